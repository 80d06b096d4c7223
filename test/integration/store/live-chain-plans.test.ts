/** Plans of the statements on chains that go on: by index, however long the queue is. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FilteredChainState } from '../../../src/domain/chain/outlook.ts'
import { countChainStates } from '../../../src/services/chain.ts'
import { divideDemands } from '../../../src/services/session/explain-pending.ts'
import {
  type ChainsQuery,
  countChains,
  countStatement,
  listChains,
  listStatement,
} from '../../../src/store/sql/chain/list-chains.sql.ts'
import { type PendingDemands, readDistinctDemands } from '../../../src/store/sql/scheduling/read-pending.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { analysedPlanOf, readWhole, rowsRead } from '../../support/database/plans.ts'
import { recordQueries } from '../../support/database/record-statements.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { addManyChains } from '../../support/sessions/many-chains.ts'

const SESSIONS = 40_000
const PROJECTS = 3

let database: TestDatabase
let projects: string[]

afterAll(() => database?.close())

async function explain(statement: { text: string; values: readonly unknown[] }) {
  const nodes = (await analysedPlanOf(database.db, statement)).filter((node) => node['Relation Name'] !== 'projects')
  return { sequential: readWhole(nodes), rows: rowsRead(nodes) }
}

function query(over: Partial<ChainsQuery>): ChainsQuery {
  const bounds = { after: [], before: [], limit: 21, asOfMs: Date.now() }
  return {
    conditions: {},
    visibleProjectId: projects[1]!,
    order: 'ACTIVITY',
    direction: 'desc',
    ...bounds,
    ...over,
  }
}

const QUEUE = 30_000
/** Of the queue, a few ask for more than there is. */
const IMPOSSIBLE = 30

let pending: PendingDemands
let running: number

beforeAll(async () => {
  database = await testDatabase()
  projects = await addManyChains(database.db, SESSIONS, PROJECTS)
  await createFactories(database.db).agent('of the queue')
  await database.db.query(
    `INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, resource_slots,
       cluster_mode, cluster_size, priority, labels, chain_id, attempt, origin, max_retries, retry_policy)
     SELECT id, $1, 'default', 'queued-' || n, 'queued', 'BATCH', '{true}',
       CASE WHEN n % ($2 / $3) = 0 THEN '{"cpu": "5000"}' ELSE '{"cpu": "1"}' END::jsonb,
       'SINGLE_NODE', 1, 10, '{}', id, 1, 'INITIAL', 0, '{}'
     FROM (SELECT n, ('00000000-0000-7000-a000-' || lpad(to_hex(n), 12, '0'))::uuid AS id FROM generate_series(1, $2::int) AS n) AS s`,
    [projects[1]!, QUEUE, IMPOSSIBLE],
  )
  await database.db.query('VACUUM ANALYZE sessions, chains')
  pending = await divideDemands(context())
  const { rows } = await database.db.query<{ running: number }>(
    `SELECT count(*) AS running FROM sessions WHERE project_id = $1 AND status = 'RUNNING'`,
    [projects[1]!],
  )
  running = rows[0]!.running
})

const context = () => ({ db: database.db, viewer: { projectId: projects[1]! } }) as Parameters<typeof divideDemands>[0]

test('the demands are found by an index, however many sessions have them', async () => {
  expect(pending).toMatchObject({ impossible: [{ group: 'default' }], possible: [{ group: 'default' }] })
  const { queries } = await recordQueries(() => readDistinctDemands(database.db, projects[1]!, 100))
  const plan = await explain(queries[0]!)
  expect(plan.sequential).toEqual([])
  expect(plan.rows).toBeLessThanOrEqual(20)
})

test.each<[FilteredChainState[], (() => number) | null, number]>([
  [['RUNNING'], () => running, 400],
  [['IMPOSSIBLE'], () => IMPOSSIBLE, 400],
  [['IMPOSSIBLE', 'RUNNING'], () => IMPOSSIBLE + running, 700],
  [['QUEUED'], () => 1_001, 3_000],
  [['QUEUED', 'IMPOSSIBLE'], () => 1_001, 3_000],
  [['RUNNING', 'FAILED'], null, 1_500],
])('%j are counted and listed by indexes', async (states, count, rowsMax) => {
  const conditions = { states, pending }
  const counted = countStatement({ conditions, visibleProjectId: projects[1]!, countMax: 1_001 })
  const plan = await explain(counted)
  expect(plan.sequential).toEqual([])
  // Candidates are looked up in `sessions`, and then in `chains` with their newest attempts.
  expect(plan.rows).toBeLessThanOrEqual(rowsMax + (states.includes('QUEUED') ? 5_001 : 0))
  expect(await countChains(database.db, { conditions, visibleProjectId: projects[1]!, countMax: 1_001 })).toBe(
    count?.() ?? (await listChains(database.db, query({ conditions, limit: 1_001 }))).length,
  )
  for (const order of ['ACTIVITY', 'NAME', 'TOTAL_TIME'] as const) {
    const list = await explain(listStatement(query({ conditions, order })))
    expect(list.sequential).toEqual([])
    expect(list.rows).toBeLessThanOrEqual(rowsMax + (states.includes('QUEUED') ? 5_001 : 0))
  }
})

test('all states are counted with few statements', async () => {
  expect(running).toBeGreaterThan(10)
  const counts = await countChainStates(context(), {})
  expect(Object.fromEntries(counts.map(({ state, count }) => [state, count]))).toMatchObject({
    QUEUED: 10_000,
    IMPOSSIBLE,
    RUNNING: running,
  })
})

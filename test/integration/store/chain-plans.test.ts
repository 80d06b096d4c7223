/** Plans of the statements on chains: by index, whatever the number of chains. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Queryable } from '../../../src/store/database.ts'
import type { ChainConditions } from '../../../src/store/sql/chain/chain-conditions.sql.ts'
import { activeStatement, overStatement } from '../../../src/store/sql/session/count-sessions.sql.ts'
import {
  type ChainOrder,
  type ChainsQuery,
  countChains,
  countChainStates,
  countStatement,
  listChains,
  listStatement,
  stateCountStatement,
} from '../../../src/store/sql/chain/list-chains.sql.ts'
import {
  readChainAttempts,
  readChainEpochs,
  readChainIds,
  readChains,
  readChainTotals,
} from '../../../src/store/sql/chain/read-chains.sql.ts'
import {
  countChainChanges,
  readChainChanges,
  readChainTimelines,
} from '../../../src/store/sql/chain/chain-timelines.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { addManyChains } from '../../support/sessions/many-chains.ts'
import { analysedPlanIn, analysedPlanOf, type PlanNode, readWhole, rowsRead } from '../../support/database/plans.ts'

const SESSIONS = 70_000
/** Not a divisor of what sets chains apart: each project has some of each. */
const PROJECTS = 7
const LIMIT = 21
/** Ranges of each state in each project: of replicas, and of others. */
const RANGES = 12

let database: TestDatabase
let projects: string[]

beforeAll(async () => {
  database = await testDatabase()
  projects = await addManyChains(database.db, SESSIONS, PROJECTS)
  // Every second failed one waits for a retry, and every sixth is held.
  await database.db.query(
    `UPDATE retry_decisions d SET phase = CASE WHEN n % 6 = 0 THEN 'HELD' ELSE 'SCHEDULED' END::retry_phase,
       hold_reason = CASE WHEN n % 6 = 0 THEN 'QUOTA' END::hold_reason, due_at = now() + make_interval(secs => n / 20), ready_at = now()
     FROM (SELECT session_id, row_number() OVER (ORDER BY session_id) AS n FROM retry_decisions
       WHERE phase = 'EXHAUSTED' AND cause <> 'OOM_KILLED') AS failed
     WHERE d.session_id = failed.session_id AND n % 2 = 0`,
  )
  await database.db.query('VACUUM ANALYZE chains, retry_decisions')
})
afterAll(() => database?.close())

async function explain(text: string, values: readonly unknown[]) {
  return summaryOf(await analysedPlanOf(database.db, { text, values }))
}

/** The run of a statement: its indexes, and the number of rows that it read from tables. */
function summaryOf(nodes: readonly PlanNode[]) {
  const besideProjects = nodes.filter((node) => node['Relation Name'] !== 'projects')
  return {
    sequential: readWhole(besideProjects),
    nodes: nodes.map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''}`),
    indexes: new Set(nodes.flatMap((node) => node['Index Name'] ?? [])),
    rows: rowsRead(besideProjects),
  }
}

function query(over: Partial<ChainsQuery> = {}): ChainsQuery {
  const bounds = { after: [], before: [], limit: LIMIT, asOfMs: Date.now() }
  return { conditions: {}, visibleProjectId: projects[1]!, order: 'ACTIVITY', direction: 'desc', ...bounds, ...over }
}

async function explainList(over: Partial<ChainsQuery> = {}) {
  const { text, values } = listStatement(query(over))
  return explain(text, values)
}

const INDEX_OF: Record<ChainOrder, string> = {
  ACTIVITY: 'chains_by_activity',
  ATTEMPTS: 'chains_by_attempts',
  TOTAL_TIME: 'chains_by_total',
  NAME: 'chains_by_name',
  CREATED_AT: 'chains_by_creation',
  DUE_AT: 'chains_due',
}

const COLUMN_OF: Record<ChainOrder, string> = {
  ACTIVITY: 'newest_activity_at',
  ATTEMPTS: 'attempts',
  TOTAL_TIME: 'total_key',
  NAME: 'name',
  CREATED_AT: 'created_at',
  DUE_AT: 'due_at',
}

/** The id of the n-th session of `addManyChains`. */
const idOf = (n: number) => `00000000-0000-7000-9000-${n.toString(16).padStart(12, '0')}`

interface Uses {
  words: number
  sequential: number
  attempts: number
}

/**
 * What a function does inside is in no plan, but it is counted. Only what the transaction's own connection has counted
 * is looked at: others report theirs up to ten seconds late.
 */
function usesOf(work: (tx: Queryable) => Promise<unknown>): Promise<Uses> {
  return database.db.transaction(async (tx) => {
    const before = await usesIn(tx)
    await work(tx)
    const after = await usesIn(tx)
    return {
      words: after.words - before.words,
      sequential: after.sequential - before.sequential,
      attempts: after.attempts - before.attempts,
    }
  })
}

async function usesIn(tx: Queryable): Promise<Uses> {
  const { rows } = await tx.query<Uses>(
    `SELECT pg_stat_get_xact_numscans('chains_words'::regclass) AS words,
       pg_stat_get_xact_numscans('sessions_chain_id_attempt_key'::regclass) AS attempts,
       pg_stat_get_xact_numscans('chains'::regclass) + pg_stat_get_xact_numscans('sessions'::regclass) AS sequential`,
  )
  return rows[0]!
}

test('as many rows as are talked of', async () => {
  const { rows } = await database.db.query<{ sessions: number; chains: number; longer: number }>(
    `SELECT (SELECT count(*) FROM sessions) AS sessions, count(*) AS chains, count(*) FILTER (WHERE attempts = 3) AS longer FROM chains`,
  )
  expect(rows[0]!.sessions).toBeGreaterThan(SESSIONS - 200)
  expect(rows[0]!.chains + 2 * rows[0]!.longer).toBe(rows[0]!.sessions)
  expect(rows[0]!.longer).toBeGreaterThan(1_000)
})

describe.each(Object.keys(INDEX_OF) as ChainOrder[])('by %s', (order) => {
  test.each(['asc', 'desc'] as const)('%s, a page is read from the index', async (direction) => {
    const plan = await explainList({ order, direction })
    expect(plan.sequential).toEqual([])
    expect(plan.indexes).toContain(INDEX_OF[order])
    // One page of each range, then the page itself with its newest attempts and their decisions.
    expect(plan.rows).toBeLessThanOrEqual(RANGES * LIMIT + 3 * LIMIT)
  })

  test('a page in the middle costs no more than the first', async () => {
    const middle = await database.db.query<{ key: any; chain_id: string }>(
      `SELECT ${COLUMN_OF[order]} AS key, chain_id FROM chains
       WHERE project_id = $1 AND state = $2 ORDER BY 1, 2 OFFSET (SELECT count(*) / 2 FROM chains WHERE project_id = $1 AND state = $2) LIMIT 1`,
      [projects[1]!, order === 'DUE_AT' ? 'WAITING_RETRY' : 'SUCCEEDED'],
    )
    const { key, chain_id: chainId } = middle.rows[0]!
    const plan = await explainList({ order, after: [{ key, chainId }] })
    expect(plan.sequential).toEqual([])
    expect(plan.rows).toBeLessThanOrEqual(RANGES * LIMIT + 3 * LIMIT)
    const page = await listChains(database.db, query({ order, after: [{ key, chainId }] }))
    expect(page).toHaveLength(LIMIT)
  })

  test('of all projects', async () => {
    const plan = await explainList({ order, visibleProjectId: null })
    expect(plan.sequential).toEqual([])
    expect(plan.rows).toBeLessThanOrEqual((PROJECTS + 1) * RANGES * LIMIT + 3 * LIMIT)
  })
})

describe('a filter', () => {
  const recent = new Date(Date.now() - 3_600_000)
  test.each<[string, ChainConditions, string, number]>([
    ['state', { states: ['FAILED'] }, INDEX_OF.ACTIVITY, 100],
    ['cause', { causes: ['OOM_KILLED'] }, 'chains_failed', 200],
    ['attempts', { attempts: { min: 4 } }, INDEX_OF.ATTEMPTS, 100],
    ['a word that all have', { search: 'comm' }, INDEX_OF.ACTIVITY, 300],
    ['activity', { activityAt: { gte: recent } }, INDEX_OF.ACTIVITY, 500],
    ['creation', { createdAt: { gte: recent } }, INDEX_OF.CREATED_AT, 500],
    ['ids', { chainIds: [idOf(5_000), idOf(9_000)] }, 'chains_pkey', 20],
    ['due time', { dueAt: { lt: new Date(Date.now() + 5_000) } }, 'chains_due', 200],
    ['resource group', { resourceGroup: 'default' }, INDEX_OF.ACTIVITY, 400],
  ])('by %s is read from an index', async (_name, conditions, index, rowsMax) => {
    const plan = await explainList({ conditions })
    expect(plan.sequential).toEqual([])
    expect([...plan.indexes]).toContain(index)
    expect(plan.rows).toBeLessThanOrEqual(rowsMax)
  })

  test.each<[string, ChainConditions]>([
    ['name', { name: { equals: 'job-77001-common' } }],
    ['the beginning of a name', { name: { startsWith: 'job-7700' } }],
    ['label', { label: { key: 'team', value: 'rare' } }],
    ['a rare word', { search: 'rar' }],
    ['a word that only others have', { search: 'common 77003' }],
  ])('by %s is read from the index of words', async (_name, conditions) => {
    let rows = 0
    const uses = await usesOf(async (tx) => {
      const plan = summaryOf(await analysedPlanIn(tx, listStatement(query({ conditions }))))
      expect(plan.sequential).toEqual([])
      rows = plan.rows
    })
    expect(uses).toEqual({ words: 1, sequential: 0, attempts: 0 })
    expect(rows).toBeLessThanOrEqual(500)
    const listed = await listChains(database.db, query({ conditions, limit: 1_000 }))
    expect(await countChains(database.db, { conditions, visibleProjectId: projects[1]!, countMax: 1_000 })).toBe(
      listed.length,
    )
  })

  test('by an agent with little work is read from the index of its kernels', async () => {
    const agentId = await createFactories(database.db).agent('with little work')
    const chains = await database.db.query<{ id: string }>(
      `SELECT chain_id AS id FROM chains WHERE project_id = $1 AND attempts = 3 ORDER BY 1 DESC LIMIT 3`,
      [projects[1]!],
    )
    const ids = chains.rows.map(({ id }) => id)
    await database.db.query(
      `INSERT INTO kernels (id, session_id, role, index, status, agent_id, resource_slots)
       SELECT gen_random_uuid(), id, 'main', 1, 'TERMINATED', $2, '{}' FROM sessions WHERE chain_id = ANY($1::uuid[]) AND attempt = 2`,
      [ids, agentId],
    )
    const conditions: ChainConditions = { agentId }
    const plan = await explainList({ conditions })
    expect(plan.sequential).toEqual([])
    expect(plan.rows).toBeLessThanOrEqual(100)
    const listed = await listChains(database.db, query({ conditions }))
    expect(listed.map(({ chainId }) => chainId).toSorted()).toEqual(ids.toSorted())
    const counted = { conditions, visibleProjectId: projects[1]!, countMax: 1_000 }
    expect(await countChains(database.db, counted)).toBe(3)
    expect((await countChainStates(database.db, counted)).filter(({ count }) => count > 0)).toMatchObject([
      { count: 3 },
    ])
  })

  test('counts the listed rows', async () => {
    const conditions: ChainConditions = { causes: ['OOM_KILLED'] }
    const visibleProjectId = null
    const listed = await listChains(database.db, query({ conditions, visibleProjectId, limit: 1_000 }))
    expect(listed.length).toBeGreaterThan(10)
    expect(await countChains(database.db, { conditions, visibleProjectId, countMax: 1_000 })).toBe(listed.length)
  })
})

test.each<[string, ChainConditions]>([
  ['all chains', {}],
  ['a word that all have', { search: 'common' }],
])('counting %s stops at the largest shown number', async (_name, conditions) => {
  const counted = countStatement({ conditions, visibleProjectId: null, countMax: 1_001 })
  const { rows } = await database.db.query<{ count: number }>(counted.text, counted.values)
  expect(rows[0]!.count).toBe(1_001)
  const plan = await explain(counted.text, counted.values)
  expect(plan.rows).toBeLessThanOrEqual(conditions.search === undefined ? 1_001 : 12_000)
})

test.each([
  ['a project', () => projects[1]!, 1_001],
  ['all projects', () => null, 1_001],
])('counting the states of %s stops at the largest shown number of each', async (_name, visible, countMax) => {
  const counted = { conditions: {}, visibleProjectId: visible(), countMax }
  const { text, values } = stateCountStatement(counted)
  const plan = await explain(text, values)
  expect(plan.sequential).toEqual([])
  expect(plan.rows).toBeLessThanOrEqual(RANGES * countMax)
  const { rows } = await database.db.query<{ state: string; count: number }>(
    `SELECT state, least(count(*), $2)::int8 AS count FROM chains WHERE $1::uuid IS NULL OR project_id = $1 GROUP BY state`,
    [counted.visibleProjectId, countMax],
  )
  const nonEmpty = (await countChainStates(database.db, counted)).filter(({ count }) => count > 0)
  const byState = (a: { state: string }, b: { state: string }) => a.state.localeCompare(b.state)
  expect(nonEmpty.toSorted(byState)).toEqual(rows.toSorted(byState))
  expect(nonEmpty.map(({ state }) => state)).toEqual(['LIVE', 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED'])
})

test.each<[string, (tx: Queryable, chainIds: string[]) => Promise<unknown>]>([
  [
    'attempts',
    (tx, chainIds) =>
      readChainAttempts(
        tx,
        chainIds.map((chainId) => ({ chainId, after: 1, limit: 2 })),
      ),
  ],
  [
    'timelines',
    (tx, chainIds) =>
      readChainTimelines(
        tx,
        chainIds.map((chainId) => ({ chainId, after: 1, limit: 2 })),
      ),
  ],
  ['totals', (tx, chainIds) => readChainTotals(tx, chainIds)],
  ['epochs', (tx, chainIds) => readChainEpochs(tx, chainIds, 10)],
  ['changes', (tx, chainIds) => readChainChanges(tx, chainIds, '0', 10)],
  ['the number of changes', (tx, chainIds) => countChainChanges(tx, chainIds)],
])('%s of chains are read by their index', async (_name, read) => {
  const { rows } = await database.db.query<{ id: string }>(
    `SELECT chain_id AS id FROM chains WHERE attempts = 3 LIMIT 50`,
  )
  const uses = await usesOf((tx) =>
    read(
      tx,
      rows.map(({ id }) => id),
    ),
  )
  expect(uses).toMatchObject({ words: 0, sequential: 0 })
  // Once for each chain, whatever planning looks up besides.
  expect(uses.attempts).toBeGreaterThanOrEqual(rows.length)
  expect(uses.attempts).toBeLessThan(rows.length + 10)
})

test('chains are brought up to date by keys, however often a connection has done so', async () => {
  const { rows } = await database.db.query<{ id: string }>('SELECT chain_id AS id FROM chains LIMIT 8')
  const uses = await usesOf(async (tx) => {
    for (const { id } of rows) await tx.query('SELECT refresh_chains(ARRAY[$1::uuid])', [id])
  })
  expect(uses.sequential).toBe(0)
})

test('a chain by itself is read by keys', async () => {
  const { rows } = await database.db.query<{ id: string }>(`SELECT id FROM sessions WHERE attempt = 3 LIMIT 1`)
  const uses = await usesOf(async (tx) => {
    const sessionId = rows[0]!.id
    const chainId = (await readChainIds(tx, [sessionId], null)).get(sessionId)
    expect(await readChains(tx, [chainId!], null)).toHaveLength(1)
  })
  expect(uses.sequential).toBe(0)
})

describe('statistics', () => {
  // A worker of autovacuum with an older snapshot in this database keeps VACUUM from marking pages as visible to all;
  // pages by which the table was only extended are never marked.
  beforeAll(() =>
    eventually(async () => {
      await database.db.query('VACUUM sessions')
      const pages = `SELECT relallvisible >= relpages * 0.98 AS all FROM pg_class WHERE oid = 'sessions'::regclass`
      return (await database.db.query<{ all: boolean }>(pages)).rows[0]!.all
    }),
  )

  test.each([
    ['of a project', () => projects[1]!],
    ['of all projects', () => null],
  ])('%s count ended ones from the index alone', async (_name, visible) => {
    const to = new Date()
    const from = new Date(to.getTime() - 86_400_000)
    const span = { project: null, visibleProjectId: visible(), from, to, bucketSeconds: 3_600 }
    const { text, values } = overStatement(span)
    const plan = await explain(text, values)
    expect(plan.sequential).toEqual([])
    expect(plan.nodes.join(', ')).toContain('Index Only Scan sessions_over')
    // A day of the month that the sessions are spread over.
    expect(plan.rows).toBeLessThan(SESSIONS / 25)
    expect(plan.rows).toBeGreaterThan(SESSIONS / 35 / PROJECTS)
  })

  test('count active ones by their index', async () => {
    const { text, values } = activeStatement({ project: null, visibleProjectId: projects[1]! })
    const plan = await explain(text, values)
    expect(plan.sequential).toEqual([])
    expect(plan.rows).toBeGreaterThan(0)
    expect(plan.rows).toBeLessThanOrEqual(SESSIONS / 400)
  })
})

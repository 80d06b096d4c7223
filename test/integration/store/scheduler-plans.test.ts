/** Plans of the scheduler's statements: no growing table is read from end to end. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setQuota } from '../../../src/services/quota.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { addManyChains } from '../../support/sessions/many-chains.ts'
import { planOf, readWhole } from '../../support/database/plans.ts'
import { playedAgent, type PlayedAgent } from '../../support/agents/played-agent.ts'
import { recordedDatabase, type RecordedStatement } from '../../support/database/recorded-database.ts'
import { ALL_SERVICES, testServer, type TestServer } from '../../support/servers/test-server.ts'
import { addWhatPeopleLeft, addWhatSessionsLeft } from '../../support/sessions/what-sessions-left.ts'

const SESSIONS = 12_000
/** Tables that grow with what has been. */
const GROWING = new Set([
  'sessions',
  'session_dependencies',
  'kernels',
  'session_events',
  'scheduling_history',
  'retry_decisions',
  'chains',
  'resubmission_items',
  'audit_log',
])

let database: TestDatabase
let statements: Map<string, RecordedStatement>

beforeAll(async () => {
  database = await testDatabase()
  await addManyChains(database.db, SESSIONS, 3)
  await addWhatSessionsLeft(database.db)
  await addWhatPeopleLeft(database.db)
  const recorded = recordedDatabase(database.db)
  statements = recorded.statements
  const server = testServer(recorded.db)
  const agent = playedAgent(server.gateway, { slots: { cpu: '64' } })
  await agent.register()
  await server.run(...ALL_SERVICES)
  const retryPolicy = { maxRetries: 1, retryDelay: 0.001, jitter: 'NONE' as const }
  await server.create({ retryPolicy })
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 1)
  await server.run(...ALL_SERVICES)
  await server.settle()
  await agent.comply()
  await server.settle()
  const ended = await server.create({ clusterSize: 2 })
  await server.settle()
  await agent.comply()
  await server.settle()
  await agent.comply()
  await terminateSession(server.context, { sessionId: ended })
  await server.settle()
  await agent.comply()
  await server.settle()
  await underLimits(server, agent)
})
afterAll(() => database?.close())

/** Quotas, shares, timeouts, rate limits, dependencies and resubmissions have statements of their own. */
async function underLimits(server: TestServer, agent: PlayedAgent): Promise<void> {
  const { context } = server
  await setQuota(context, { scope: 'PROJECT', name: 'default', maxRunning: 100, maxPending: 1_000 })
  await setRetrySwitch(context, { scope: 'PROJECT', name: 'default', rateLimit: { perSecond: 0.001, burst: 1 } })
  for (const sequencer of ['DRF', 'LIFO']) {
    await database.db.query('UPDATE resource_groups SET sequencer = $1, pending_timeout_ms = 3600000', [sequencer])
    const first = await server.create({
      batchTimeout: 60,
      retryPolicy: { maxRetries: 1, retryDelay: 0.001, jitter: 'NONE' },
    })
    await server.create({ dependsOn: [first] })
    for (let n = 0; n < 3; n++) await server.create({ resourceSlots: [{ slot: 'cpu', amount: '1000' }], priority: n })
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    await server.settle()
  }
  await database.db.query(
    `WITH asked AS (
       INSERT INTO resubmissions (id, client_key, request_hash, actor, overrides, total)
       VALUES (gen_random_uuid(), 'again', '', 'ada', '{}', 2) RETURNING id)
     INSERT INTO resubmission_items (resubmission_id, position, session_id)
     SELECT asked.id, row_number() OVER () - 1, failed.id
     FROM asked, (SELECT session_id AS id FROM retry_decisions WHERE phase = 'EXHAUSTED' LIMIT 2) AS failed`,
  )
  await server.settle()
}

test('the functions of the clock are inlined in the plans of all statements', async () => {
  const timed = [...statements.values()].filter(({ text }) => /\breprise_(now|clock)\(\)/.test(text))
  expect(timed.length).toBeGreaterThan(30)
  for (const { text, values } of timed) {
    const { rows } = await database.db.query<{ 'QUERY PLAN': string }>(`EXPLAIN VERBOSE ${text}`, values)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).not.toMatch(/reprise_(now|clock)/)
  }
})

test('no statement reads a growing table from end to end', async () => {
  const read = []
  for (const statement of statements.values()) {
    const tables = readWhole(await planOf(database.db, statement)).filter((table) => GROWING.has(table))
    if (tables.length > 0) read.push({ tables, text: statement.text })
  }
  expect(read).toEqual([])
  // Of all services, agents' syncs, creation and termination, and of what limits them.
  expect(statements.size).toBeGreaterThan(65)
})

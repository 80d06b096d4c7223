import { afterAll, beforeAll, expect, test } from 'vitest'
import { terminateSession } from '../../../src/services/terminate-session.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { driveAll, failWith } from '../../support/drive-session.ts'
import { addManyChains } from '../../support/many-chains.ts'
import { planOf, readWhole } from '../../support/plans.ts'
import { playedAgent } from '../../support/played-agent.ts'
import { recordedDatabase, type RecordedStatement } from '../../support/recorded-database.ts'
import { ALL_SERVICES, testServer } from '../../support/test-server.ts'
import { addWhatSessionsLeft } from '../../support/what-sessions-left.ts'

/** Whatever drives sessions finds its rows by an index, however many sessions have been. */

const SESSIONS = 30_000
/** Tables that grow with what has been. */
const GROWING = new Set(['sessions', 'kernels', 'session_events', 'scheduling_history', 'retry_decisions', 'chains'])

let database: TestDatabase
let statements: Map<string, RecordedStatement>

beforeAll(async () => {
  database = await testDatabase()
  await addManyChains(database.db, SESSIONS, 3)
  await addWhatSessionsLeft(database.db)
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
}, 300_000)
afterAll(() => database?.close())

test('no statement reads a growing table from end to end', async () => {
  const read = []
  for (const statement of statements.values()) {
    const tables = readWhole(await planOf(database.db, statement)).filter((table) => GROWING.has(table))
    if (tables.length > 0) read.push({ tables, text: statement.text })
  }
  expect(read).toEqual([])
  // Of all services, agents' syncs, creation and termination.
  expect(statements.size).toBeGreaterThan(40)
})

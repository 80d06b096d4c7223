/** Batch timeouts are kept at once, while servers and agents are busy. */
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWakeExchange } from '../../../src/events/wake-exchange.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { startSwarm } from '../../support/agents/agent-swarm.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { testServer } from '../../support/servers/test-server.ts'

const AGENTS = 8
const TIMED = 40
/** Short ones that come and go on the same agents meanwhile. */
const OTHERS = 600
/** Servers look every half second; on a busy machine they come to it later. */
const TOLD_LATE_MAX_MS = 4_000
/** Half of them. Agents that did not hear of it would look again every five seconds, so half after more than this. */
const HALF_ENDED_MAX_MS = 3_500

const log = pino({ enabled: false })
let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

it('batch timeouts are kept at once, not at the next look, with servers and agents that are busy', async () => {
  const { db, connectionString } = database
  await using resources = new AsyncDisposableStack()
  // One that drives sessions, one that only hears agents, one that does both.
  const [driving, hearing, both] = [testServer(db), testServer(db), testServer(db)]
  for (const { hub } of [driving, hearing, both]) {
    const exchange = createWakeExchange({ db, hub, connectionString, log })
    resources.defer(() => exchange.stop())
  }
  await driving.run('watch-agents')
  const gateways = [hearing.gateway, both.gateway]
  const swarm = await startSwarm({
    size: AGENTS,
    gateway: (index) => gateways[index % gateways.length]!,
    directory: await temporaryDirectory('timeouts'),
    slots: { cpu: '1000' },
    log,
  })
  resources.use(swarm)
  resources.use(driving.start())
  resources.use(both.start())

  const timed = Array.from({ length: TIMED }, (_, index) => ({
    name: 'timed',
    command: ['noop', 'hang'],
    batchTimeout: 0.5 + (index % 10) * 0.3,
  }))
  const others = Array.from({ length: OTHERS }, (_, index) => ({
    name: 'other',
    command: ['noop', 'sleep', String((index % 20) * 10)],
  }))
  await createSessions(hearing.context, timed)
  await createSessions(hearing.context, others)
  const open = `SELECT count(*) AS open FROM sessions WHERE status NOT IN ('TERMINATED', 'ERROR')`
  await eventually(async () => (await db.query<{ open: number }>(open)).rows[0]!.open === 0, { withinMs: 120_000 })

  const { rows } = await db.query<{ told: number; ended: number }>(
    `SELECT round(extract(epoch FROM h.first_at - s.times_out_at) * 1000)::float8 AS told,
      round(extract(epoch FROM s.terminated_at - s.times_out_at) * 1000)::float8 AS ended
    FROM sessions s JOIN scheduling_history h ON h.entity_id = s.id AND h.phase = 'enforce-batch-timeouts'
    WHERE s.name = 'timed' AND s.status_data #>> '{error,name}' = 'task-timeout' ORDER BY ended`,
  )
  expect(rows).toHaveLength(TIMED)
  expect(rows.filter(({ told }) => told < 0 || told > TOLD_LATE_MAX_MS)).toEqual([])
  expect(rows[TIMED / 2]!.ended).toBeLessThan(HALF_ENDED_MAX_MS)
})

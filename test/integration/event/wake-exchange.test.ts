/** Wakes between servers: who hears of what, and what happens while the connection is away. */
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createEventBus } from '../../../src/events/bus.ts'
import { createRelay } from '../../../src/events/relay.ts'
import { createWakeExchange, WAKES_CHANNEL } from '../../../src/events/wake-exchange.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { driveAll, sessionIn } from '../../support/sessions/drive-session.ts'
import { eventually } from '../../support/eventually.ts'
import { numbered, writeEvents } from '../../support/database/outbox.ts'
import { playedAgent } from '../../support/agents/played-agent.ts'
import { testServer } from '../../support/servers/test-server.ts'

const log = pino({ enabled: false })
const NEVER = 600_000

let database: TestDatabase
let resources: AsyncDisposableStack

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  resources = new AsyncDisposableStack()
})
afterEach(() => resources.disposeAsync())

/** A server that exchanges wakes with the others; what it heard of is in `heard`. */
async function server(...topics: ('schedule-sessions' | 'decide-retries' | 'events')[]) {
  const each = testServer(database.db, undefined, undefined, { waitMaxMs: NEVER })
  const { connectionString, db } = database
  const heard: string[] = []
  for (const topic of topics) each.hub.on(topic, () => heard.push(topic))
  // From the beginning of its listening on it hears; that wakes everybody.
  const listens = Promise.withResolvers<void>()
  each.hub.on('run-schedules', listens.resolve)
  const exchange = createWakeExchange({ db, hub: each.hub, connectionString, log })
  resources.defer(() => exchange.stop())
  await listens.promise
  heard.length = 0
  return Object.assign(each, { heard })
}

test('work that one server makes and does not do itself wakes the servers that do it, and them alone', async () => {
  const api = await server()
  const scheduler = await server('schedule-sessions', 'decide-retries', 'events')
  const decider = await server('decide-retries')
  for (const { heard } of [scheduler, decider]) heard.length = 0
  await api.create()
  await eventually(() => scheduler.heard.includes('schedule-sessions') && scheduler.heard.includes('events'))
  expect(decider.heard).toEqual([])
  expect(scheduler.heard).not.toContain('decide-retries')
})

test('an agent that waits at one server hears at once what the scheduler of another did', async () => {
  const scheduling = await server()
  const agents = await server()
  const agent = playedAgent(agents.gateway)
  await agent.register()
  await scheduling.run('watch-agents')
  for (let round = 0; round < 20; round++) {
    const waiting = agent.sync([], NEVER)
    // It has looked and found nothing.
    await database.db.query('SELECT pg_sleep(0.05)')
    await sessionIn(scheduling, agent, 'PREPARING')
    // Without a hint it would wait for longer than the test.
    const answer = await waiting
    expect(answer.orders).toMatchObject([{ want: 'PREPARE' }])
    agent.obey(answer)
    await driveAll(scheduling, agent, 'RUNNING')
    agent.exitAll(0)
    await agent.sync()
    await scheduling.settle()
  }
})

test('the events of one server reach the readers of another without polling', async () => {
  const writer = await server()
  const reader = await server()
  const bus = createEventBus()
  const numbers: number[] = []
  bus.publish = (events) => void numbers.push(...events.map(({ data }) => (data as unknown as { n: number }).n))
  const relay = createRelay({ db: database.db, bus, log, settle: async () => {}, pollIntervalMs: NEVER })
  await relay.start()
  resources.defer(() => relay.stop())
  reader.hub.on('events', relay.wake)
  await writeEvents(database.db, [numbered(1)])
  writer.hub.wake('events')
  await eventually(() => numbers.length === 1)
})

test('a burst is told in few notifications, and all of it', async () => {
  const writer = await server()
  const reader = await server()
  const agentIds = Array.from({ length: 1_000 }, (_, index) => `agent-${index}`)
  const woken = new Set<string>()
  for (const agentId of agentIds) reader.hub.onAgent(agentId, () => woken.add(agentId))
  let notifications = 0
  const { db } = database
  const counting = {
    ...db,
    query: ((text, values) => {
      if (text.includes('pg_notify')) notifications++
      return db.query(text, values)
    }) as typeof db.query,
  }
  const exchange = createWakeExchange({ ...database, db: counting, hub: writer.hub, log })
  resources.defer(() => exchange.stop())
  for (const agentId of agentIds) writer.hub.wakeAgents([agentId])
  await eventually(() => woken.size === agentIds.length)
  expect(notifications).toBeLessThanOrEqual(2)
})

test('more topics than one notification names wake everybody', async () => {
  const writer = await server()
  const { heard } = await server('decide-retries')
  heard.length = 0
  writer.hub.wake(...Array.from({ length: 200 }, (_, index) => `resubmission:${index}` as const))
  await eventually(() => heard.length === 1)
})

test('when the connection was away everybody looks, and what cannot be read wakes everybody, too', async () => {
  const { heard } = await server('decide-retries')
  heard.length = 0
  await database.db.query('SELECT pg_notify($1, $2)', [WAKES_CHANNEL, 'of another version'])
  await eventually(() => heard.length === 1)
  const own = openDatabase({ ...database, connectionsMax: 1, onError: () => {} })
  await own.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'reprise-listen'`)
  await own.close()
  await eventually(() => heard.length === 2)
})

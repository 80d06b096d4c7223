/** The relays of the outbox and of logs, and wakes between servers. */
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { compareCursors, type OutboxEvent } from '../../../src/domain/events.ts'
import { createEventBus, type EventBus } from '../../../src/events/bus.ts'
import { createLogRelay, followKernelLogs } from '../../../src/events/kernel-logs.ts'
import { createRelay, type Relay } from '../../../src/events/relay.ts'
import { createWakeExchange, WAKES_CHANNEL } from '../../../src/events/wake-exchange.ts'
import { createTopics } from '../../../src/events/wake-hub.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { numbered, writeEvents } from '../../support/database/outbox.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { driveAll, sessionIn } from '../../support/sessions/drive-session.ts'
import { createFactories } from '../../support/sessions/factories.ts'

const log = pino({ enabled: false })
const NEVER = 600_000

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

describe('the relay of the outbox', () => {
  let bus: EventBus
  let relay: Relay
  let published: OutboxEvent[]
  /** Statements that the relay has begun. */
  let looks: number
  const running: Relay[] = []
  beforeEach(() => database.fresh())
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.stop()))
  })

  async function start(options: { pollIntervalMs: number; db?: Database }): Promise<Relay> {
    bus = createEventBus()
    published = []
    const publish = bus.publish
    bus.publish = (events) => {
      published.push(...events)
      publish(events)
    }
    const { db = database.db, pollIntervalMs } = options
    looks = 0
    const counted: Database = {
      ...db,
      query(text, values) {
        looks++
        return db.query(text, values)
      },
    }
    relay = createRelay({ db: counted, bus, log, settle: async () => {}, pollIntervalMs })
    running.push(relay)
    await relay.start()
    return relay
  }

  const soon = (check: () => unknown) => vi.waitFor(check, { timeout: 120_000, interval: 5 })
  /** Until a look that begins after this is over: the next one has begun. */
  async function untilLooked(): Promise<void> {
    const before = looks
    await soon(() => expect(looks).toBeGreaterThan(before + 1))
  }
  const numbers = () => published.map(({ data }) => (data as unknown as { n: number }).n)

  test('publishes events that are committed after its start, in cursor order, and no earlier ones', async () => {
    await writeEvents(database.db, [numbered(0)])
    // A transaction of any database of this PostgreSQL that began before would let the relay begin before it.
    await soon(async () => {
      const passed = 'SELECT bool_and(xid < pg_snapshot_xmin(pg_current_snapshot())) AS passed FROM session_events'
      expect((await database.db.query(passed)).rows).toEqual([{ passed: true }])
    })
    await start({ pollIntervalMs: 10 })
    await writeEvents(database.db, [numbered(1), numbered(2)])
    await writeEvents(database.db, [numbered(3)])
    await soon(() => expect(numbers()).toEqual([1, 2, 3]))
    const cursors = published.map(({ cursor }) => cursor)
    expect(cursors.toSorted(compareCursors)).toEqual(cursors)
  })

  test('does not pass by a transaction that commits late', async () => {
    await start({ pollIntervalMs: 10 })
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const slow = database.db.transaction(async (tx) => {
      await writeEvents(tx, [numbered(1)])
      begun.resolve()
      await gate.promise
    })
    await begun.promise
    await writeEvents(database.db, [numbered(2)])
    // The fast one is committed and may be seen, but a reader that took it now could never go back for the slow one.
    await untilLooked()
    expect(numbers()).toEqual([])
    gate.resolve()
    await slow
    await soon(() => expect(numbers()).toEqual([1, 2]))
  })

  test('an event written late in a transaction that began early keeps its place', async () => {
    await start({ pollIntervalMs: 10 })
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const slow = database.db.transaction(async (tx) => {
      await tx.query('SELECT pg_current_xact_id()')
      begun.resolve()
      await gate.promise
      await writeEvents(tx, [numbered(1)])
    })
    await begun.promise
    // Its row id is smaller, its transaction the later one.
    await writeEvents(database.db, [numbered(2)])
    gate.resolve()
    await slow
    await soon(() => expect(numbers()).toEqual([1, 2]))
  })

  test('a wake in process is enough', async () => {
    await start({ pollIntervalMs: NEVER })
    await writeEvents(database.db, [numbered(1)])
    relay.wake()
    await soon(() => expect(numbers()).toEqual([1]))
  })

  test('a wake that comes before an older transaction ends is not forgotten', async () => {
    await start({ pollIntervalMs: NEVER })
    await database.db.transaction(async (tx) => {
      await tx.query('SELECT pg_current_xact_id()')
      await writeEvents(database.db, [numbered(1)])
      relay.wake()
      await untilLooked()
      expect(numbers()).toEqual([])
    })
    await soon(() => expect(numbers()).toEqual([1]))
  })

  test('continues after its connections were cut', async () => {
    const db = openDatabase({ connectionString: database.connectionString, connectionsMax: 2, onError: () => {} })
    await start({ pollIntervalMs: 10, db })
    await database.db.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    await writeEvents(database.db, [numbered(1)])
    await soon(() => expect(numbers()).toEqual([1]))
    await relay.stop()
    await db.close()
  })

  test('carries more events than one batch at once', async () => {
    await start({ pollIntervalMs: NEVER })
    await writeEvents(
      database.db,
      Array.from({ length: 4_500 }, (_, n) => numbered(n)),
    )
    relay.wake()
    await soon(() => expect(published).toHaveLength(4_500))
    expect(numbers()).toEqual(Array.from({ length: 4_500 }, (_, n) => n))
  })

  test('asks a server that it has not read from whether the database has moved, also if nothing failed', async () => {
    const db = openDatabase({ connectionString: database.connectionString, connectionsMax: 1, onError: () => lost++ })
    let lost = 0
    let settled = 0
    const own = createRelay({
      db,
      bus: createEventBus(),
      log,
      settle: async () => void settled++,
      pollIntervalMs: NEVER,
    })
    running.push(own)
    await own.start()
    await soon(() => expect(settled).toBeGreaterThan(0))
    const { rows } = await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const before = settled
    await database.db.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
    await soon(() => expect(lost).toBe(1))
    own.wake()
    await soon(() => expect(settled).toBeGreaterThan(before))
    await own.stop()
    await db.close()
  })
})

describe('the relay of logs', () => {
  const FOLLOWERS = 50
  beforeAll(async () => {
    await database.fresh()
  })

  test('idle followers cost one statement together, and get new output and the end', async () => {
    const { db } = database
    const factory = createFactories(db)
    const topics = createTopics()
    const relay = createLogRelay({ db, topics, log: pino({ enabled: false }) })
    const closing = new AbortController()
    const heard = new Map<string, string[]>()
    const ended = new Set<string>()
    const kernels: string[] = []
    for (let n = 0; n < FOLLOWERS; n++) {
      const { kernelIds } = await factory.session({ status: 'RUNNING' })
      kernels.push(kernelIds[0]!)
    }
    const follow = async (kernelId: string) => {
      heard.set(kernelId, [])
      for await (const chunks of followKernelLogs({ db, topics, relay, kernelId, after: '0', closing: closing.signal }))
        heard.get(kernelId)!.push(...chunks.map(({ text }) => text))
      ended.add(kernelId)
    }
    const following = kernels.map(follow)
    const [first, second] = [kernels[0]!, kernels[1]!]
    // Nobody signals: another server has received it.
    await factory.log(first, 'one\n')
    await eventually(() => heard.get(first)!.length === 1)

    // The relay's first look has woken all of them once; from then on those that have nothing to read do not look.
    let lines = 1
    await eventually(async () => {
      const { statements } = await recordStatements(async () => {
        for (let n = 0; n < 2; n++) {
          await factory.log(first, `${++lines}\n`)
          await eventually(() => heard.get(first)!.length === lines)
        }
      })
      return statements.filter((text) => !text.includes('unnest')).length < FOLLOWERS
    })

    const end = `UPDATE kernels SET status = 'TERMINATED', slots_held = false, confirmed_gone = true WHERE id = $1`
    await factory.log(second, 'last\n')
    await db.query(end, [second])
    await eventually(() => ended.has(second))
    expect(heard.get(second)).toEqual(['last\n'])
    closing.abort()
    await Promise.all(following)
    const after = await recordStatements(() => eventually(() => ended.size === FOLLOWERS))
    expect(after.statements).toEqual([])
    await relay.stop()
  })

  test('the other followers still get new output when the first one has left', async () => {
    const server = await startGraphQLServer()
    const [first, second] = [connect(server.url, server.adminToken), connect(server.url, server.adminToken)]
    const follow = async (connection: typeof first) => {
      const { kernelIds } = await server.factory.session({ status: 'RUNNING' })
      const logs = connection.subscribe('subscription ($id: UUID!) { kernelLogs(kernelId: $id) { text } }', {
        id: kernelIds[0]!,
      })
      await server.factory.log(kernelIds[0]!, 'one\n')
      await logs.take(1)
      return { kernelId: kernelIds[0]!, logs }
    }
    try {
      await follow(first)
      const { kernelId, logs } = await follow(second)
      await first.close()
      await server.factory.log(kernelId, 'two\n')
      expect(await logs.take(1)).toEqual([{ kernelLogs: { text: 'two\n' } }])
    } finally {
      await second.close()
      await server.close()
    }
  })
})

describe('wakes between servers', () => {
  let resources: AsyncDisposableStack
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

  test("an agent that waits at one server gets orders of another server's scheduler at once", async () => {
    const scheduling = await server()
    const agents = await server()
    const agent = fakeAgent(agents.gateway)
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

  test('a burst needs few notifications, and none is lost', async () => {
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

  test('a server that always has something to tell sends 40 notifications a second, and 20 before', async () => {
    const writer = await server()
    const { heard } = await server('decide-retries')
    const begun = performance.now()
    for (let told = 0; told < 40; told++) {
      heard.length = 0
      writer.hub.wake('decide-retries')
      await eventually(() => heard.length === 1)
    }
    expect(performance.now() - begun).toBeGreaterThan((40 - 20 - 1) * 25)
  })

  test('more topics than one notification names wake everybody', async () => {
    const writer = await server()
    const { heard } = await server('decide-retries')
    heard.length = 0
    writer.hub.wake(...Array.from({ length: 200 }, (_, index) => `resubmission:${index}` as const))
    await eventually(() => heard.length === 1)
  })

  test('after a lost connection, and after an unreadable notification, everybody is woken', async () => {
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
})

/** The relay that publishes the outbox: in cursor order, everything that is committed. */
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { compareCursors, type OutboxEvent } from '../../../src/domain/events.ts'
import { createEventBus, type EventBus } from '../../../src/events/bus.ts'
import { createRelay, type Relay } from '../../../src/events/relay.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { numbered, writeEvents } from '../../support/database/outbox.ts'

const log = pino({ enabled: false })
const NEVER = 600_000

let database: TestDatabase
let bus: EventBus
let relay: Relay
let published: OutboxEvent[]
/** Statements that the relay has begun. */
let looks: number
const running: Relay[] = []

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
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

test('publishes what is committed after its start, in cursor order, and nothing from before', async () => {
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

test('goes on after its connections were cut', async () => {
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
  const own = createRelay({ db, bus: createEventBus(), log, settle: async () => void settled++, pollIntervalMs: NEVER })
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

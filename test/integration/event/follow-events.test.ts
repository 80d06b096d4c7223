/** Following events: from a cursor through the outbox to live, without gap or duplicate, with filters. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { EventCursor, EventFilter, OutboxEvent } from '../../../src/domain/events.ts'
import { createEventBus, type EventBus } from '../../../src/events/bus.ts'
import { createEndWaits } from '../../../src/events/end-waits.ts'
import { followChanges } from '../../../src/events/follow-changes.ts'
import { followEvents } from '../../../src/events/follow-events.ts'
import { createRelay, type Relay } from '../../../src/events/relay.ts'
import { readEvents, readOutboxBounds } from '../../../src/store/sql/event/read-events.sql.ts'
import { removeOldEvents } from '../../../src/store/sql/retention.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { numbered, writeDeploymentEvents, writeEvents, type WrittenEvent } from '../../support/database/outbox.ts'
import { checkProperty } from '../../support/seeds.ts'

const log = pino({ enabled: false })
const BEGINNING: EventCursor = { xid: 0n, id: 0n }
const QUEUE_EVENTS_MAX = 10
const RECENT_EVENTS_MAX = 8

let database: TestDatabase
let bus: EventBus
let relay: Relay
let closing: AbortController

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  bus = createEventBus({ queueEventsMax: QUEUE_EVENTS_MAX, recentEventsMax: RECENT_EVENTS_MAX })
  closing = new AbortController()
  relay = createRelay({ db: database.db, bus, log, settle: async () => {}, pollIntervalMs: 5 })
  await relay.start()
})
afterEach(() => relay.stop())

/** One by one. */
function follow(options: { after?: EventCursor; filter?: EventFilter; batchEventsMax?: number } = {}) {
  const source = followEvents({ db: database.db, bus, closing: closing.signal, filter: {}, ...options })
  const waiting: OutboxEvent[] = []
  return {
    async next(): Promise<IteratorResult<OutboxEvent, void>> {
      if (waiting.length > 0) return { done: false, value: waiting.shift()! }
      const { done, value } = await source.next()
      if (done) return { done, value: undefined }
      const [first, ...others] = value
      waiting.push(...others)
      return { done: false, value: first! }
    },
    return: () => source.return!(),
  }
}

async function take(source: ReturnType<typeof follow>, count: number): Promise<OutboxEvent[]> {
  const events: OutboxEvent[] = []
  while (events.length < count) {
    const { value, done } = await source.next()
    if (done) break
    events.push(value)
  }
  return events
}

/** Until the relay has handed them all over: transactions in other databases of the server may hold it up. */
async function published(work: () => Promise<void>, count: number): Promise<void> {
  const publish = bus.publish
  const { promise, resolve } = Promise.withResolvers<void>()
  let seen = 0
  bus.publish = (events) => {
    publish(events)
    seen += events.length
    if (seen >= count) resolve()
  }
  await work()
  await promise
  bus.publish = publish
}

const numbersOf = (events: OutboxEvent[]) => events.map(({ data }) => (data as unknown as { n: number }).n)
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)
const write = (from: number, to: number, event: WrittenEvent = {}) =>
  writeEvents(
    database.db,
    range(from, to).map((n) => numbered(n, event)),
  )

test('without a cursor it starts with the next event', async () => {
  await published(() => write(0, 3), 3)
  const events = follow()
  await write(3, 5)
  expect(numbersOf(await take(events, 2))).toEqual([3, 4])
})

test('with a cursor it starts behind that, and continues live', async () => {
  await write(0, 6)
  const [, second] = await take(follow({ after: BEGINNING }), 2)
  const events = follow({ after: second!.cursor, batchEventsMax: 2 })
  expect(numbersOf(await take(events, 4))).toEqual([2, 3, 4, 5])
  await write(6, 8)
  expect(numbersOf(await take(events, 2))).toEqual([6, 7])
})

test('from the outbox to live there is no gap and no duplicate, however they interleave', async () => {
  await checkProperty(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 30 }),
      fc.array(fc.record({ events: fc.integer({ min: 1, max: 8 }), reads: fc.integer({ min: 0, max: 6 }) }), {
        maxLength: 8,
      }),
      fc.integer({ min: 1, max: 5 }),
      async (before, steps, batchEventsMax) => {
        const chainId = randomUUID()
        await write(0, before, { chainId })
        const events = follow({ after: BEGINNING, filter: { chainId }, batchEventsMax })
        let written = before
        const seen: OutboxEvent[] = []
        for (const step of steps) {
          await write(written, written + step.events, { chainId })
          written += step.events
          seen.push(...(await take(events, Math.min(step.reads, written - seen.length))))
        }
        seen.push(...(await take(events, written - seen.length)))
        await events.return()
        expect(numbersOf(seen)).toEqual(range(0, written))
      },
    ),
    { numRuns: 25 },
  )
})

describe('what the bus still has', () => {
  const removeAll = () => database.db.query('DELETE FROM session_events')

  test('is not read from the outbox, and the events are those that other readers have', async () => {
    const live = follow()
    await write(0, 6)
    const events = await take(live, 6)
    await removeAll()
    const missed = await take(follow({ after: events[1]!.cursor }), 4)
    expect(numbersOf(missed)).toEqual([2, 3, 4, 5])
    expect(missed[0]).toBe(events[2])
  })

  test('is forgotten when the relay has met another database', async () => {
    const live = follow()
    await write(0, 6)
    const events = await take(live, 6)
    await removeAll()
    bus.forgetPublished()
    const missed = follow({ after: events[1]!.cursor })
    await write(6, 7)
    expect(numbersOf(await take(missed, 1))).toEqual([6])
  })

  test('goes on live without gap and duplicate, wherever the reader begins, and while more is published', async () => {
    let fromMemory = 0
    await checkProperty(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 * RECENT_EVENTS_MAX }),
        fc.nat(),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 }),
        async (before, anywhere, batches) => {
          const chainId = randomUUID()
          const live = follow({ filter: { chainId } })
          await write(0, before, { chainId })
          const begin = (await take(live, before))[anywhere % before]!
          await live.return()
          const first = (anywhere % before) + 1
          fromMemory += Number(bus.hasAfter(begin.cursor))
          const events = follow({ after: begin.cursor, filter: { chainId } })
          const seen: OutboxEvent[] = []
          let written = before
          for (const count of batches) {
            const writing = write(written, written + count, { chainId })
            written += count
            seen.push(...(await take(events, 1)))
            await writing
          }
          seen.push(...(await take(events, written - first - seen.length)))
          await events.return()
          expect(numbersOf(seen)).toEqual(range(first, written))
        },
      ),
      { numRuns: 25 },
    )
    expect(fromMemory).toBeGreaterThan(0)
  })
})

test('a reader that falls behind its queue reads the outbox instead, and misses nothing', async () => {
  const events = follow()
  await write(0, 1)
  expect(numbersOf(await take(events, 1))).toEqual([0])
  await published(() => write(1, 10 * QUEUE_EVENTS_MAX + 5), 10 * QUEUE_EVENTS_MAX + 4)
  expect(numbersOf(await take(events, 10 * QUEUE_EVENTS_MAX + 4))).toEqual(range(1, 10 * QUEUE_EVENTS_MAX + 5))
})

test('a reader that falls behind before its first event gets no earlier events', async () => {
  await published(() => write(0, 20), 20)
  const events = follow()
  await published(() => write(20, 20 + 3 * QUEUE_EVENTS_MAX), 3 * QUEUE_EVENTS_MAX)
  expect(numbersOf(await take(events, 3 * QUEUE_EVENTS_MAX))).toEqual(range(20, 20 + 3 * QUEUE_EVENTS_MAX))
})

describe('events that are removed too early', () => {
  const removeAllBut = (count: number) => removeOldEvents(database.db, { ageSeconds: 1e9, count }, 1_000)
  const expired = {
    code: 'CURSOR_EXPIRED',
    message: expect.stringContaining('Events were removed before') as string,
  }

  /** A transaction that began before keeps the relay from reading them. */
  async function removedBeforeRead(count: number): Promise<void> {
    await database.db.transaction(async (tx) => {
      await tx.query('SELECT pg_current_xact_id()')
      await write(0, count)
      await removeAllBut(1)
    })
  }

  test('end a subscription with an error, and one from the oldest event goes on', async () => {
    const next = follow().next()
    const refused = expect(next).rejects.toMatchObject(expired)
    await removedBeforeRead(3)
    await refused
    const { removed } = await readOutboxBounds(database.db)
    const events = follow({ after: removed })
    await write(3, 5)
    expect(numbersOf(await take(events, 3))).toEqual([2, 3, 4])
  })

  test('are told to those who follow changes', async () => {
    const changes = followChanges({
      db: database.db,
      bus,
      changeDetector: undefined,
      filter: {},
      everyMs: 1,
      closing: closing.signal,
    })
    const batch = changes.next()
    await removedBeforeRead(3)
    expect(await batch).toMatchObject({ value: [{ missed: true }] })
    await changes.return!()
  })

  test('make those look again who wait for an end', async () => {
    const sessionId = randomUUID()
    const ended = new Map<string, string>()
    const looked = Promise.withResolvers<void>()
    const waits = createEndWaits({
      bus,
      types: ['session.terminated'],
      keyOf: (event) => event.sessionId,
      async read(keys) {
        looked.resolve()
        return new Map([...ended].filter(([key]) => keys.includes(key)))
      },
    })
    const { found } = waits.wait([sessionId], { any: true })
    await looked.promise
    ended.set(sessionId, 'its end')
    await removedBeforeRead(3)
    expect(await found).toEqual(ended)
  })

  test('end a subscription that is slower than they are kept', async () => {
    const events = follow()
    const first = events.next()
    await published(() => write(0, 1), 1)
    expect(numbersOf([(await first).value as OutboxEvent])).toEqual([0])
    await published(() => write(1, 2 * QUEUE_EVENTS_MAX), 2 * QUEUE_EVENTS_MAX - 1)
    await removeAllBut(1)
    await expect(events.next()).rejects.toMatchObject(expired)
  })

  test('do not end one that they did not concern', async () => {
    const chainId = randomUUID()
    const events = follow({ filter: { chainId } })
    const first = events.next()
    await published(() => write(0, 1, { chainId }), 1)
    await first
    await published(() => write(1, 5), 4)
    await removeAllBut(1)
    const many = 2 * QUEUE_EVENTS_MAX
    await published(() => write(5, 5 + many, { chainId }), many)
    expect(numbersOf(await take(events, many))).toEqual(range(5, 5 + many))
  })
})

test('changes behind a cursor name no event before it, which the bus publishes late', async () => {
  await published(() => write(0, 3), 3)
  const { events } = await readEvents(database.db, BEGINNING, 3)
  const late = createEventBus()
  const changes = followChanges({
    db: database.db,
    bus: late,
    changeDetector: undefined,
    filter: {},
    after: events[1]!.cursor,
    everyMs: 1,
    closing: closing.signal,
  })
  const batch = changes.next()
  late.publish(events)
  expect(await batch).toMatchObject({ value: [{ sessionIds: [events[2]!.sessionId] }] })
  await changes.return!()
})

describe('filters', () => {
  const sessionId = randomUUID()
  const chainId = randomUUID()
  const filters: [string, EventFilter][] = [
    ['session', { sessionId }],
    ['chain', { chainId }],
    ['type', { types: new Set(['session.retry_held' as const]) }],
    ['session of another chain', { sessionId, chainId: randomUUID() }],
  ]
  const written = [
    numbered(0, { sessionId }),
    numbered(1, { chainId }),
    numbered(2, { type: 'session.retry_held' }),
    numbered(3),
  ]
  const expected: Record<string, number[]> = { session: [0], chain: [1], type: [2], 'session of another chain': [] }

  test.each(filters)('by %s are the same live and from the outbox', async (name, filter) => {
    const live = follow({ filter })
    await writeEvents(database.db, written)
    const all = follow({ after: BEGINNING, filter })
    expect(numbersOf(await take(all, expected[name]!.length))).toEqual(expected[name])
    expect(numbersOf(await take(live, expected[name]!.length))).toEqual(expected[name])
  })
})

test('ends while it waits, and leaves nothing behind', async () => {
  const events = follow()
  const pending = events.next()
  expect(bus.subscribers).toBe(1)
  await events.return()
  expect(await pending).toEqual({ done: true, value: undefined })
  expect(bus.subscribers).toBe(0)
})

test('ends when it was never read', async () => {
  await follow().return()
  expect(bus.subscribers).toBe(0)
})

test('ends when the server closes', async () => {
  const events = follow()
  const pending = events.next()
  closing.abort()
  expect((await pending).done).toBe(true)
  expect((await follow().next()).done).toBe(true)
  expect(bus.subscribers).toBe(0)
})

test('events of one deployment, live and from a cursor, and none of sessions', async () => {
  const deploymentId = randomUUID()
  const written = async () => {
    await write(0, 2)
    await writeDeploymentEvents(database.db, [
      { type: 'deployment.scaled', deploymentId: randomUUID(), data: { n: 1 } },
      { type: 'deployment.scaled', deploymentId, data: { n: 2 } },
      { type: 'route.status_changed', deploymentId, routeId: randomUUID(), data: { n: 3 } },
    ])
  }
  const live = follow({ filter: { deploymentId } })
  const ofSession = follow({ filter: { sessionId: randomUUID() } })
  await written()
  const [scaled, moved] = await take(live, 2)
  expect(scaled).toMatchObject({
    type: 'deployment.scaled',
    deploymentId,
    sessionId: null,
    chainId: null,
    routeId: null,
  })
  expect(numbersOf([scaled!, moved!])).toEqual([2, 3])
  expect(numbersOf(await take(follow({ after: BEGINNING, filter: { deploymentId } }), 2))).toEqual([2, 3])
  expect(numbersOf(await take(follow({ after: scaled!.cursor, filter: { deploymentId } }), 1))).toEqual([3])
  await ofSession.return()
})

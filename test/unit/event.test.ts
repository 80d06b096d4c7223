import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compareCursors,
  decodeCursor,
  encodeCursor,
  RETRY_EVENT_TYPES,
  SESSION_EVENT_TYPES,
} from '../../src/domain/events.ts'
import { WAKE_AGENTS_PER_HINT_MAX, WAKE_TOPICS_PER_HINT_MAX } from '../../src/domain/limits.ts'
import { readJointly } from '../../src/events/joint-reads.ts'
import { formatHints, parseHints } from '../../src/events/wake-exchange.ts'
import { createWakeHub, type WakeHints } from '../../src/events/wake-hub.ts'
import { checkProperty } from '../support/seeds.ts'

describe('events', () => {
  /** The largest values of xid8 and bigint. */
  const cursor = fc.record({
    xid: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    id: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  })

  it('a cursor survives the wire', () => {
    checkProperty(
      fc.property(cursor, (given) => {
        expect(decodeCursor(encodeCursor(given))).toEqual(given)
      }),
    )
  })

  it('cursors are in total order: transaction first, then row', () => {
    expect(compareCursors({ xid: 1n, id: 9n }, { xid: 2n, id: 1n })).toBe(-1)
    expect(compareCursors({ xid: 2n, id: 9n }, { xid: 2n, id: 10n })).toBe(-1)
    expect(compareCursors({ xid: 2n, id: 9n }, { xid: 2n, id: 9n })).toBe(0)
    checkProperty(
      fc.property(cursor, cursor, cursor, (a, b, c) => {
        expect(compareCursors(a, b)).toBe(0 - compareCursors(b, a))
        const sorted = [a, b, c].toSorted(compareCursors)
        expect(compareCursors(sorted[0]!, sorted[2]!)).toBeLessThanOrEqual(0)
      }),
    )
  })

  it.each(['', ' ', 'x', btoa('1'), btoa('1:'), btoa('-1:2'), btoa('1:2:3'), btoa('1:2x'), '💥', 'A'.repeat(1000)])(
    '%j is no cursor',
    (text) => {
      expect(decodeCursor(text)).toBeUndefined()
    },
  )

  it('any text is a cursor or none, without a throw', () => {
    checkProperty(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(['undefined', 'object']).toContain(typeof decodeCursor(text))
      }),
    )
  })

  it('every event about a retry has its name in GraphQL', () => {
    const retryEvents = SESSION_EVENT_TYPES.filter((type) => type.startsWith('session.retry_'))
    expect(Object.keys(RETRY_EVENT_TYPES)).toEqual(retryEvents)
    for (const [type, name] of Object.entries(RETRY_EVENT_TYPES)) {
      expect(name).toBe(type.replace('session.', '').toUpperCase())
    }
  })
})

describe('hints that wake a service', () => {
  it('the largest hint fits PostgreSQL, and is read back unchanged', () => {
    const hints: WakeHints = {
      topics: Array.from({ length: WAKE_TOPICS_PER_HINT_MAX }, () => `resubmission:${randomUUID()}` as const),
      agentIds: Array.from({ length: WAKE_AGENTS_PER_HINT_MAX }, randomUUID),
    }
    const from = randomUUID()
    const payload = formatHints(from, hints)
    expect(Buffer.byteLength(payload)).toBeLessThan(8_000)
    expect(parseHints(payload)).toEqual({ from, ...hints })
  })

  it.each(['', '{', 'null', '"x"', randomUUID(), '{"from":"a"}', '{"from":"a","topics":[],"agentIds":7}'])(
    'unreadable text (%s) is no hint',
    (payload) => expect(parseHints(payload)).toBeNull(),
  )

  it('waiters of this server are woken here; others, and those of events, by a notification', () => {
    const hub = createWakeHub()
    const abroad: WakeHints[] = []
    const woken: string[] = []
    hub.onOutgoing((hints) => abroad.push(hints))
    hub.on('schedule-sessions', () => woken.push('schedule-sessions'))
    hub.on('events', () => woken.push('events'))
    hub.onAgent('near', () => woken.push('near'))
    hub.wake('schedule-sessions')
    hub.wakeAgents(['near'])
    expect(abroad).toEqual([])
    hub.on('resubmission:1', () => woken.push('followed'))
    hub.wake('schedule-sessions', 'decide-retries', 'events', 'resubmission:1')
    hub.wakeAgents(['near', 'far'])
    expect(abroad).toEqual([
      { topics: ['decide-retries', 'events', 'resubmission:1'], agentIds: [] },
      { topics: [], agentIds: ['far'] },
    ])
    expect(woken).toEqual(['schedule-sessions', 'near', 'schedule-sessions', 'events', 'followed', 'near'])
  })

  it('a notification of another server wakes its waiters, and is not passed on', () => {
    const hub = createWakeHub()
    const woken: string[] = []
    hub.onOutgoing(() => woken.push('abroad'))
    for (const topic of ['events', 'decide-retries'] as const) hub.on(topic, () => woken.push(topic))
    for (const agentId of ['one', 'two']) hub.onAgent(agentId, () => woken.push(agentId))
    hub.receive({ topics: ['decide-retries', 'schedule-sessions'], agentIds: ['two', 'three'] })
    expect(woken.splice(0)).toEqual(['decide-retries', 'two'])
    hub.receive({ topics: ['events'], agentIds: null })
    expect(woken.splice(0)).toEqual(['events', 'one', 'two'])
    hub.wakeAll()
    expect(woken).toEqual(['events', 'decide-retries', 'one', 'two'])
  })
})

describe('joint reads', () => {
  /** Reads that end when they are told to, in the order in which they began. */
  function reads() {
    const begun: PromiseWithResolvers<number>[] = []
    const read = () => {
      const reading = Promise.withResolvers<number>()
      begun.push(reading)
      return reading.promise
    }
    return { begun, read }
  }

  it('a caller joins only a read that has not begun, so that it sees what was committed before', async () => {
    const db = {}
    const { begun, read } = reads()
    const first = readJointly(db, 'key', read)
    const others = [readJointly(db, 'key', read), readJointly(db, 'key', read)]
    expect(begun).toHaveLength(1)
    begun[0]!.resolve(1)
    expect(await first).toBe(1)
    await Promise.resolve()
    expect(begun).toHaveLength(2)
    const later = readJointly(db, 'key', read)
    begun[1]!.resolve(2)
    expect(await Promise.all(others)).toEqual([2, 2])
    await Promise.resolve()
    begun[2]!.resolve(3)
    expect(await later).toBe(3)
    const again = readJointly(db, 'key', read)
    expect(begun).toHaveLength(4)
    begun[3]!.resolve(4)
    expect(await again).toBe(4)
  })

  it('a read that fails is the fault of its callers alone; other keys and databases have reads of their own', async () => {
    const db = {}
    const { begun, read } = reads()
    const failing = readJointly(db, 'key', read)
    const after = readJointly(db, 'key', read)
    const others = [readJointly(db, 'another', read), readJointly({}, 'key', read)]
    expect(begun).toHaveLength(3)
    begun[0]!.reject(new Error('broken'))
    await expect(failing).rejects.toThrow('broken')
    begun[1]!.resolve(1)
    begun[2]!.resolve(2)
    expect(await Promise.all(others)).toEqual([1, 2])
    expect(begun).toHaveLength(4)
    begun[3]!.resolve(3)
    expect(await after).toBe(3)
  })
})

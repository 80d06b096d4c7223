import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  compareCursors,
  decodeCursor,
  encodeCursor,
  RETRY_EVENT_TYPES,
  SESSION_EVENT_TYPES,
} from '../../../src/domain/events.ts'
import { checkProperty } from '../../support/seeds.ts'

/** What xid8 and bigint hold. */
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

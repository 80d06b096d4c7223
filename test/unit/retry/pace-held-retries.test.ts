import { expect, it } from 'vitest'
import { DISPATCH_INTERVAL_MS, HELD_RELEASE_RETRIES_MAX } from '../../../src/domain/limits.ts'
import type { Hold } from '../../../src/domain/retry/admit.ts'
import { lineKey, paceHeldRetries, type Waiting } from '../../../src/domain/retry/pace-held-retries.ts'

function held(count: number, fields: Partial<Hold<Waiting>> = {}, retry: Partial<Waiting> = {}): Hold<Waiting>[] {
  const rateLimit = { perSecond: 100, burst: 50 }
  return Array.from({ length: count }, () => ({
    retry: { projectId: 'a', holdReason: null, ...retry },
    reason: 'RATE_LIMITED',
    scope: 'PROJECT',
    waitMs: 0,
    rateLimit,
    limitForMs: null,
    ...fields,
  }))
}

const places = (holds: readonly Hold<Waiting>[], ends: [string, number][] = []) =>
  paceHeldRetries(holds, new Map(ends)).map(({ againInMs }) => againInMs)

it('what waits for tokens stands as far apart as they come, and comes forward in ticks', () => {
  const line = places(held(1_000))
  expect(line.at(-1)).toBe(10_000)
  const shared = [...Map.groupBy(line, (place) => place).values()].map((tick) => tick.length)
  expect(Math.max(...shared)).toBe(10)
})

it('a small bucket has ticks so short that nothing overflows meanwhile', () => {
  expect(places(held(3, { rateLimit: { perSecond: 100, burst: 1 } }))).toEqual([10, 20, 30])
})

it('the next batch stands behind the first', () => {
  expect(places(held(1), [[lineKey('a', 'RATE_LIMITED'), 5_000]])).toEqual([5_100])
  expect(places(held(1), [[lineKey('b', 'RATE_LIMITED'), 5_000]])).toEqual([100])
})

it('one that has stood in line does not go to its end for the sake of a moment', () => {
  const ends: [string, number][] = [[lineKey('a', 'RATE_LIMITED'), 60_000]]
  const waited = { holdReason: 'RATE_LIMITED' } as const
  expect(places(held(1, { waitMs: 7 }, waited), ends)).toEqual([7])
  expect(places(held(1, { waitMs: DISPATCH_INTERVAL_MS + 1 }, waited), ends)[0]).toBeGreaterThan(60_000)
})

it('what a kill switch holds comes back in a ramp when its time is over', () => {
  const line = places(held(3 * HELD_RELEASE_RETRIES_MAX, { reason: 'DISABLED', rateLimit: null, waitMs: 9_500 }))
  expect(line[0]).toBe(10_000)
  const shared = [...Map.groupBy(line, (place) => place).values()].map((tick) => tick.length)
  expect(Math.max(...shared)).toBeLessThanOrEqual(HELD_RELEASE_RETRIES_MAX + 1)
})

it('a line is no longer than its limit lasts', () => {
  const slow = { rateLimit: { perSecond: 0.1, burst: 1 }, limitForMs: 25_000 }
  expect(places(held(4, slow))).toEqual([10_000, 20_000, 25_100, 25_100])
})

it('an agent that is silent may confirm at any moment', () => {
  expect(places(held(1, { reason: 'PARENT_ALIVE', rateLimit: null, waitMs: 90_000 }))).toEqual([DISPATCH_INTERVAL_MS])
})

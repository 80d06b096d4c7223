import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RETRY_DELAY_CEILING_MS } from '../../../src/domain/limits.ts'
import { computeDelay, delayBounds } from '../../../src/domain/retry/delay.ts'
import { delayCeilingMs, type RetryPolicy } from '../../../src/domain/retry/policy/policy.ts'
import { checkProperty } from '../../support/seeds.ts'
import { anyPolicy, policyOf } from './sessions.ts'

describe('delays', () => {
  const SESSION = '0190b5a4-7c1e-7d3a-9f42-1c2d3e4f5a6b'

  /** printf '%s' '<SESSION><retryCount>' | sha1sum */
  const SHA1 = {
    0: 0xb6d1d8de4dca1082585101f6c9e871f77374f045n,
    1: 0xe89243b72fd43d27b78d8df0f65bed1c83840309n,
    2: 0x485ed902448b0afaa43fef7b6a1a9d25c859dfd1n,
    7: 0x222f9d71d6b11327f2eb87488eba72a154febd94n,
  } as const

  function delayOf(policy: Partial<RetryPolicy>, retryCount = 0, random = 0, baseSeconds?: number) {
    return computeDelay({ policy: policyOf(policy), sessionId: SESSION, retryCount, random, baseSeconds })
  }

  describe('base', () => {
    const exponential = { backoff: 'EXPONENTIAL', retryDelay: 60 } as const

    it.each([
      ['fixed stays', { retryDelay: 60 }, 5, 60_000],
      ['exponential starts with the delay itself', exponential, 0, 60_000],
      ['exponential doubles', exponential, 3, 480_000],
      ['exponential stops at maxRetryDelay', exponential, 6, 3_600_000],
      ['exponential with a fraction', { ...exponential, backoffMultiplier: 1.5 }, 3, 202_500],
      ['exponential that shrinks', { ...exponential, backoffMultiplier: 0.5 }, 2, 15_000],
      ['fixed is not cut before the jitter', { retryDelay: 7200 }, 0, 7_200_000],
      ['floats are rounded to the millisecond', { retryDelay: 1.001 }, 0, 1001],
      ['non-finite product', { ...exponential, retryDelay: 1e300, backoffMultiplier: 1e300 }, 2, 3_600_000],
      ['non-finite power, no maximum', { ...exponential, backoffMultiplier: 1e9, maxRetryDelay: null }, 99, 86_400_000],
      ['fixed beyond every clock', { retryDelay: 1e308, maxRetryDelay: null }, 0, 86_400_000],
    ])('%s', (_, policy, retryCount, baseMs) => {
      expect(delayOf(policy, retryCount).baseMs).toBe(baseMs)
    })

    it("is the rule's delay where there is one, even 0", () => {
      expect(delayOf(exponential, 4, 0, 900).baseMs).toBe(900_000)
      expect(delayOf(exponential, 4, 0, 0)).toMatchObject({ baseMs: 0, delayMs: 0 })
    })
  })

  describe('ceiling', () => {
    it.each([
      [3600, 3_600_000],
      [null, 86_400_000],
      [1e9, 86_400_000],
      [0.5, 500],
    ])('of maxRetryDelay %s is %s ms', (maxRetryDelay, ceilingMs) => {
      expect(delayOf({ maxRetryDelay }).ceilingMs).toBe(ceilingMs)
    })

    it('cuts the added jitter', () => {
      const delay = delayOf({ retryDelay: 60, maxRetryDelay: 61, jitter: 'DETERMINISTIC' }, 2)
      expect(delay).toEqual({ baseMs: 60_000, jitterMs: 13_753, delayMs: 61_000, ceilingMs: 61_000, drawn: null })
    })
  })

  describe('a table', () => {
    const delays = [20, 300, 28_800]

    it.each([
      [0, 20_000],
      [1, 300_000],
      [2, 28_800_000],
      [7, 28_800_000],
    ])('after %s retries, up to its last entry, which repeats', (retryCount, delayMs) => {
      const delay = delayOf({ delays, backoff: 'EXPONENTIAL', maxRetryDelay: 60 }, retryCount)
      expect(delay).toMatchObject({ baseMs: delayMs, jitterMs: 0, delayMs, ceilingMs: 86_400_000 })
    })

    it('is randomized as the formula would be, up to the hard ceiling', () => {
      expect(delayOf({ delays, jitter: 'RANDOM', jitterRatio: 0.5 }, 1, 0.5).delayMs).toBe(375_000)
      expect(delayOf({ delays: [86_400], jitter: 'RANDOM' }, 0, 0.5).delayMs).toBe(86_400_000)
      expect(delayOf({ delays, jitter: 'FULL' }, 1, 0.5).drawn).toEqual({ fromMs: 0, toMs: 300_000 })
      expect(delayOf({ delays, jitter: 'DECORRELATED' }, 1, 0).drawn).toEqual({ fromMs: 300_000, toMs: 900_000 })
    })

    it("gives way to a rule's delay, which maxRetryDelay limits as ever", () => {
      expect(delayOf({ delays, maxRetryDelay: 60 }, 1, 0, 900)).toMatchObject({ delayMs: 60_000, ceilingMs: 60_000 })
    })
  })

  describe('deterministic jitter', () => {
    const policy = { jitter: 'DETERMINISTIC', retryDelay: 60, jitterRatio: 0.25 } as const

    it.each([
      [0, 1173],
      [1, 2089],
      [2, 13_753],
      [7, 11_252],
    ] as const)('of retryCount %s is the hash modulo the span', (retryCount, jitterMs) => {
      expect(Number(SHA1[retryCount] % 15_000n)).toBe(jitterMs)
      expect(delayOf(policy, retryCount)).toMatchObject({ baseMs: 60_000, jitterMs, delayMs: 60_000 + jitterMs })
    })

    it('takes the modulo with all 160 bits, by the span of the grown base', () => {
      expect(delayOf({ ...policy, backoff: 'EXPONENTIAL' }, 1).jitterMs).toBe(Number(SHA1[1] % 30_000n))
    })

    it('cuts the span to whole milliseconds', () => {
      expect(delayOf({ ...policy, retryDelay: 0.999 }, 2).jitterMs).toBe(Number(SHA1[2] % 249n))
    })

    it('does not depend on the case of the id', () => {
      const upper = computeDelay({
        policy: policyOf(policy),
        sessionId: SESSION.toUpperCase(),
        retryCount: 0,
        random: 0,
      })
      expect(upper.jitterMs).toBe(1173)
    })

    it.each([{ jitterRatio: 0 }, { retryDelay: 0.003 }])('adds nothing with an empty span: %o', (given) => {
      expect(delayOf({ ...policy, ...given }).jitterMs).toBe(0)
    })
  })

  describe('random jitter', () => {
    it.each([
      [0, 0],
      [0.5, 7500],
      [0.999999999, 14_999],
    ])('of %s is %s ms', (random, jitterMs) => {
      expect(delayOf({ jitter: 'RANDOM', retryDelay: 60 }, 0, random).jitterMs).toBe(jitterMs)
    })
  })

  describe('full jitter', () => {
    const policy = { jitter: 'FULL', retryDelay: 60, backoff: 'EXPONENTIAL' } as const

    it.each([
      [0, 0, 0],
      [0, 0.5, 30_000],
      [0, 0.999999999, 60_000],
      [2, 0.5, 120_000],
      [50, 0, 0],
      [50, 0.999999999, 3_600_000],
    ])('of retryCount %s, drawn at %s, is %s ms', (retryCount, random, delayMs) => {
      const delay = delayOf(policy, retryCount, random)
      expect(delay).toMatchObject({ delayMs, drawn: { fromMs: 0 } })
      expect(delay.baseMs + delay.jitterMs).toBe(delayMs)
    })

    it("takes from a rule's delay, which may be 0", () => {
      expect(delayOf(policy, 3, 0.5, 10)).toMatchObject({ baseMs: 10_000, delayMs: 5000 })
      expect(delayOf(policy, 3, 0.5, 0)).toMatchObject({ baseMs: 0, jitterMs: 0, delayMs: 0 })
    })

    it('reaches each of few milliseconds about equally often', () => {
      const drawn = Array.from({ length: 4000 }, (_, index) =>
        delayOf({ ...policy, retryDelay: 0.003 }, 0, index / 4000),
      )
      const counts = Object.entries(Object.groupBy(drawn, ({ delayMs }) => String(delayMs)))
      expect(counts.map(([ms, those]) => [ms, those!.length])).toEqual(['0', '1', '2', '3'].map((ms) => [ms, 1000]))
    })
  })

  describe('decorrelated jitter', () => {
    const policy = { jitter: 'DECORRELATED', retryDelay: 10, maxRetryDelay: 100 } as const
    const drawn = (delayBeforeMs: number | null, random: number, more: object = {}) =>
      computeDelay({
        policy: policyOf({ ...policy, ...more }),
        sessionId: SESSION,
        retryCount: 4,
        random,
        delayBeforeMs,
      })

    it.each([
      ['the first goes up to three times the delay', null, 10_000, 30_000],
      ['the next up to three times the one before', 20_000, 10_000, 60_000],
      ['never beyond the ceiling', 90_000, 10_000, 100_000],
      ['never below the delay', 1_000, 10_000, 10_000],
      ['after a delay of 0', 0, 10_000, 10_000],
    ])('%s', (_what, before, fromMs, toMs) => {
      expect(drawn(before, 0)).toMatchObject({ baseMs: 10_000, jitterMs: 0, delayMs: fromMs, drawn: { fromMs, toMs } })
      expect(drawn(before, 0.999999999)).toMatchObject({ delayMs: toMs, jitterMs: toMs - fromMs })
      expect(drawn(before, 0.5).delayMs).toBe(fromMs + Math.floor((toMs - fromMs + 1) / 2))
    })

    it('does not depend on the backoff', () => {
      expect(drawn(20_000, 0.5, { backoff: 'EXPONENTIAL', backoffMultiplier: 9 })).toEqual(drawn(20_000, 0.5))
    })

    it('begins at the ceiling if the delay is longer', () => {
      expect(drawn(null, 0.5, { retryDelay: 500 })).toMatchObject({ delayMs: 100_000, drawn: { fromMs: 100_000 } })
    })
  })

  it('a delay at the ceiling is spread only by FULL and DECORRELATED', () => {
    const spread = (jitter: RetryPolicy['jitter']) => {
      const policy = policyOf({ jitter, backoff: 'EXPONENTIAL', retryDelay: 10, maxRetryDelay: 100 })
      const randoms = Array.from({ length: 100 }, (_, index) => index / 100)
      const delays = randoms.map((random) => {
        return computeDelay({ policy, sessionId: SESSION, retryCount: 40, random, delayBeforeMs: 100_000 }).delayMs
      })
      return new Set(delays).size
    }
    expect(spread('RANDOM')).toBe(1)
    expect(spread('FULL')).toBe(100)
    expect(spread('DECORRELATED')).toBe(100)
  })

  describe('always', () => {
    const anyCount = fc.integer({ min: 0, max: 100 })
    const anyBefore = fc.option(fc.integer({ min: 0, max: RETRY_DELAY_CEILING_MS }))
    const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

    it('whole milliseconds, within the bounds and the ceiling', () => {
      checkProperty(
        fc.property(
          anyPolicy,
          anyCount,
          anyRandom,
          fc.uuid(),
          anyBefore,
          (policy, retryCount, random, sessionId, before) => {
            const delay = computeDelay({ policy, sessionId, retryCount, random, delayBeforeMs: before })
            const { earliestMs, latestMs } = delayBounds(policy, retryCount, { delayBeforeMs: before })
            const { baseMs, jitterMs, delayMs, ceilingMs } = delay
            for (const ms of [baseMs, delayMs, ceilingMs]) expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true)
            expect(Number.isSafeInteger(jitterMs) && (jitterMs >= 0 || policy.jitter === 'FULL')).toBe(true)
            expect(delay.delayMs).toBe(Math.min(delay.baseMs + delay.jitterMs, delay.ceilingMs))
            expect(delay.ceilingMs).toBeLessThanOrEqual(RETRY_DELAY_CEILING_MS)
            expect(delay.delayMs).toBeGreaterThanOrEqual(earliestMs)
            expect(delay.delayMs).toBeLessThanOrEqual(latestMs)
          },
        ),
      )
    })

    it('the jitter is less than its share of the base', () => {
      checkProperty(
        fc.property(anyPolicy, anyCount, anyRandom, (policy, retryCount, random) => {
          fc.pre(policy.jitter !== 'FULL' && policy.jitter !== 'DECORRELATED')
          const { baseMs, jitterMs } = computeDelay({ policy, sessionId: SESSION, retryCount, random })
          expect(jitterMs === 0 || jitterMs < baseMs * policy.jitterRatio).toBe(true)
        }),
      )
    })

    it('without jitter a growing backoff is monotone, up to the ceiling', () => {
      const multiplier = fc.double({ min: 1, max: 1e6, noNaN: true })
      checkProperty(
        fc.property(anyPolicy, multiplier, anyCount, (given, backoffMultiplier, retryCount) => {
          const policy = { ...given, delays: null, backoff: 'EXPONENTIAL', jitter: 'NONE', backoffMultiplier } as const
          const at = (n: number) => computeDelay({ policy, sessionId: SESSION, retryCount: n, random: 0 }).delayMs
          expect(at(retryCount + 1)).toBeGreaterThanOrEqual(at(retryCount))
          expect(at(1_000_000)).toBeLessThanOrEqual(delayCeilingMs(policy))
        }),
      )
    })
  })
})

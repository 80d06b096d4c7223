/** Advice is found where it was planted, and hardly ever elsewhere. */
import { describe, expect, test } from 'vitest'
import { ADVICE_KINDS, type Advice } from '../../src/domain/insight/advice/advice.ts'
import { AdviceSearch } from '../../src/domain/insight/advice/find-advice.ts'
import { memoryToRequest } from '../../src/domain/insight/advice/resource-advice.ts'
import { sayAdvice } from '../../src/domain/insight/advice/say-advice.ts'
import { moreFailuresByChance, successRateBelow } from '../../src/domain/insight/advice/statistics.ts'
import { randomOf, seedsOf } from '../support/seeds.ts'
import { BAD_AGENT, BAD_GPU, type Planted, simulateMonth } from '../support/sessions/simulated-months.ts'

const GIB = 2 ** 30

function adviceIn(seed: number, planted?: Planted, chains?: number): Advice[] {
  const search = new AdviceSearch()
  const steps = search.addProject(simulateMonth(randomOf(seed), planted, chains))
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return [...value, ...search.places()]
  }
}

const told = (advice: readonly Advice[]) => advice.map(({ evidence, subject }) => `${evidence.kind} ${subject}`)

const PLANTED: [string, Planted, number | undefined][] = [
  ['NEVER_SUCCEEDS exit code 64', { uselessExits: 60 }, undefined],
  ['RETRIES_UNUSED maxRetries', { hopelessAfterTwo: 60 }, 0],
  ['MEMORY_TOO_LOW name hungry', { hungry: 12 }, undefined],
  ['MEMORY_TOO_LOW growth', { starving: 12 }, undefined],
  ['MEMORY_TOO_HIGH name modest', { modest: 12 }, undefined],
  ['TIMEOUT_TOO_LOW name slow', { slow: 12 }, undefined],
  ['TIMEOUT_TOO_LOW growth', { slowForever: 12 }, undefined],
  ['OUTAGE_TOO_LONG IMAGE_PULL_FAILURE', { longOutages: 9 }, undefined],
  ['MANY_FAIL_AT_ONCE burst', { bursts: 3 }, undefined],
  [`BAD_AGENT ${BAD_AGENT}`, { badAgent: true }, 1_000],
  [`BAD_GPU ${BAD_GPU}`, { badGpu: true }, 2_000],
]

/** Months whose advice is counted here; `npm run test:long` goes on with other ones. */
const MONTHS = 100
const FALSE_SHARE = 0.01

describe('a month', () => {
  test.each(PLANTED)('with a fact shows it: %s', (wanted, planted, chains) => {
    for (const seed of seedsOf().flatMap((first) => [first, first + 1, first + 2])) {
      expect(told(adviceIn(seed, planted, chains)), `seed ${seed}`).toContain(wanted)
    }
  })

  test('without any has false advice of one kind at most once in a hundred', () => {
    for (const first of seedsOf()) {
      const counts = new Map<string, number>(ADVICE_KINDS.map((kind) => [kind, 0]))
      for (let seed = first; seed < first + MONTHS; seed++) {
        const kinds = new Set(adviceIn(seed).map(({ evidence }) => evidence.kind))
        for (const kind of kinds) counts.set(kind, counts.get(kind)! + 1)
      }
      // Of so few months, three times as many as expected may be an accident.
      for (const [kind, count] of counts) expect(count, kind).toBeLessThanOrEqual(3 * FALSE_SHARE * MONTHS)
    }
  })

  test('with all facts says them in sentences, what wastes most first', () => {
    const planted = Object.assign({}, ...PLANTED.map(([, facts]) => facts)) as Planted
    const words = [...adviceIn(5, planted, 1_000), ...adviceIn(5, { badAgent: true }, 1_000)].map(
      ({ evidence, patch }) => sayAdvice(evidence, patch, 'node-3'),
    )
    expect(words.map(({ finding, change }) => `${finding} ${change}`)).toEqual(SENTENCES)
  })
})

const SENTENCES = [
  'No retry with the same batch timeout succeeded after a timeout: 36 were made in 24 chains. Double the batch timeout of each retry after a timeout.',
  'Exit code 64 was retried 168 times in 60 chains, and no retry succeeded. End chains at exit code 64.',
  'modest requests 32 GiB and used at most 1 GiB in 11 runs. Request 1.15 GiB of memory for modest.',
  '12 of 12 chains of slow that ran out of time succeeded later, all with at least 2 h. They began with 60 min. Give slow a batch timeout of 80 min.',
  '10 of 10 chains of hungry that ran out of memory succeeded later, all with at least 16 GiB. They began with 8 GiB. Request 12.7 GiB of memory for hungry.',
  '9 of 9 outages with IMAGE_PULL_FAILURE lasted longer than 32 min, after which retries have ended; 93 chains failed. Wait longer between retries, so that they outlast most outages.',
  'One failure hit many chains at once 3 times, 75 in all, and 136 retries failed, too: node-3. Hold the retries of a failure that hits 10 chains within 10 min, but for single probes.',
  'node-3 failed 113 of 175 chains; of such chains elsewhere, 32 % fail. The probability that chance does this to any one of them is below 1 in a million. Drain node-3: it gets no new work until it is resumed.',
]

describe('the tests behind it', () => {
  // Fisher's tea: 4 of 4 cups with milk first are found among 8.
  test('one table is that of Fisher, and several add up', () => {
    const tea = { here: { trials: 4, failures: 4 }, elsewhere: { trials: 4, failures: 0 } }
    expect(moreFailuresByChance([tea])).toBeCloseTo(1 / 70, 10)
    expect(moreFailuresByChance([tea, tea])).toBeCloseTo(1 / 4900, 10)
    const even = { here: { trials: 5, failures: 1 }, elsewhere: { trials: 5, failures: 1 } }
    expect(moreFailuresByChance([even])).toBeCloseTo(7 / 9, 10)
    expect(moreFailuresByChance([{ here: { trials: 3, failures: 3 }, elsewhere: { trials: 9, failures: 9 } }])).toBe(1)
  })

  test('many trials are close to the exact test', () => {
    const stratum = (scale: number) => ({
      here: { trials: 100 * scale, failures: 27 * scale },
      elsewhere: { trials: 900 * scale, failures: 180 * scale },
    })
    const exact = moreFailuresByChance([stratum(1), stratum(1)])
    const close = moreFailuresByChance(Array.from({ length: 20 }, () => stratum(1)))
    expect(exact).toBeGreaterThan(0.001)
    expect(exact).toBeLessThan(0.05)
    expect(close).toBeLessThan(1e-9)
  })

  test('useless retries take 44 of them in 21 chains', () => {
    expect([43, 44].map((trials) => successRateBelow(trials, 0.99) <= 0.1)).toEqual([false, true])
    expect([20, 21].map((trials) => successRateBelow(trials, 0.99) <= 0.2)).toEqual([false, true])
  })
})

describe('memory to request', () => {
  const runs = (count: number, peak: number, request = 64 * GIB) =>
    Array.from({ length: count }, () => ({ requestBytes: request, peakBytes: peak }))

  test('needs 8 runs, and adds 15 % to the highest of few and 10 % to the 99th percentile of many', () => {
    expect(memoryToRequest(runs(7, 10 * GIB))).toBeNull()
    expect(memoryToRequest(runs(8, 10 * GIB))).toBe(11.5 * GIB)
    expect(memoryToRequest(runs(30, 10 * GIB))).toBe(11 * GIB)
    const outlier = [...runs(299, 10 * GIB), { requestBytes: 64 * GIB, peakBytes: 50 * GIB }]
    expect(memoryToRequest(outlier)).toBe(11 * GIB)
  })

  test('is never less than the last run used, and counts a peak at its limit with the limit', () => {
    expect(memoryToRequest([...runs(1, 40 * GIB), ...runs(299, 10 * GIB)])).toBe(40 * GIB)
    expect(memoryToRequest([...runs(9, 10 * GIB), { requestBytes: 20 * GIB, peakBytes: 19.1 * GIB }])).toBe(23 * GIB)
  })
})

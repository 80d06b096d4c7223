import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { wilson } from '../../src/domain/insight/backtest/comparable-failures.ts'
import {
  type RecordedAttempt,
  type RecordedChain,
  replayChain,
} from '../../src/domain/insight/backtest/replay-chain.ts'
import { decideRetry } from '../../src/domain/retry/decide.ts'
import type { RetryPolicy } from '../../src/domain/retry/policy/policy.ts'
import { backtestChains } from '../../src/services/insight/backtest.ts'
import { checkProperty } from '../support/seeds.ts'
import { anyFailure, anyPolicy, failedSession, policyOf } from './retry/sessions.ts'

const T0 = Date.parse('2026-05-01T12:00:00.000Z')

/** One attempt of a chain: how it ended, and how long it ran. */
interface Told {
  /** Success if missing. */
  fails?: Partial<RecordedAttempt>
  ranMs?: number
  /** When it was created; missing: when its retry was due. */
  createdMs?: number
  endedBy?: string
  epoch?: number
}

const EXIT = { exitCode: 1 }
const LOST = { exitCode: null, statusData: { error: { name: 'agent-lost', message: 'agent lost' } } }
const OOM = { exitCode: 137, statusData: { error: { name: 'oom-killed', message: 'no memory' } } }

/** Records a chain as it would have gone under a policy; ends with the attempt after which nothing is scheduled. */
function chainUnder(policy: RetryPolicy, told: readonly Told[], given: Partial<RecordedChain> = {}): RecordedChain {
  const attempts: RecordedAttempt[] = []
  let createdMs = T0
  let counters = { retryCount: 0, uncountedRetries: 0, delayBeforeMs: null as number | null }
  let size = { resourceSlots: { cpu: '2', mem: '1024' } as Record<string, string>, batchTimeout: 60 as number | null }
  let epochMs = T0
  for (const { fails, ranMs = 10_000, endedBy = null, epoch = 0, ...one } of told) {
    createdMs = one.createdMs ?? createdMs
    if (epoch !== (attempts.at(-1)?.epoch ?? 0)) {
      counters = { retryCount: 0, uncountedRetries: 0, delayBeforeMs: null }
      epochMs = createdMs
    }
    const ended = new Date(createdMs + ranMs)
    const session = failedSession({
      id: `0190b5a4-7c1e-7d3a-9f42-${String(attempts.length).padStart(12, '0')}`,
      attempt: attempts.length + 1,
      maxRetries: policy.maxRetries,
      startedAt: new Date(createdMs),
      terminatedAt: ended,
      terminatedBy: endedBy,
      epochStartedAt: new Date(epochMs),
      ...counters,
      ...size,
      ...fails,
      result: fails === undefined && endedBy === null ? 'SUCCESS' : 'FAILURE',
      ...(fails === undefined && { exitCode: 0 }),
    })
    const decided = decideRetry({ session, policy, now: ended, random: RANDOM[attempts.length % RANDOM.length]! })
    attempts.push({
      ...session,
      epoch,
      createdAt: new Date(createdMs),
      milliCpus: 2_000,
      retryPolicy: policy,
      decision: {
        decidedAt: ended,
        phase: decided.phase === 'SCHEDULED' ? 'DISPATCHED' : decided.phase,
        baseMs: decided.baseMs,
        delayMs: decided.delayMs,
        growth: decided.growth,
      },
    })
    if (decided.phase !== 'SCHEDULED') {
      if (epoch === (told[attempts.length]?.epoch ?? epoch)) break
      continue
    }
    counters = {
      retryCount: counters.retryCount + (decided.counted ? 1 : 0),
      uncountedRetries: counters.uncountedRetries + (decided.counted ? 0 : 1),
      delayBeforeMs: decided.delayMs,
    }
    if (decided.growth)
      size = { resourceSlots: decided.growth.resourceSlots, batchTimeout: decided.growth.batchTimeout }
    createdMs = ended.getTime() + decided.delayMs!
  }
  return { chainId: 'c1', name: 'train', projectName: 'default', cancelled: false, attempts, ...given }
}

const RANDOM = [0.1, 0.9, 0.3]

const backtest = (chains: readonly RecordedChain[], policy: RetryPolicy) => backtestChains(chains, [() => policy])[0]!

const fails = (times: number, how: Told['fails'] = EXIT): Told[] =>
  Array.from({ length: times }, () => ({ fails: how }))

describe('a finished chain under another policy', () => {
  const three = policyOf({ maxRetries: 3, retryDelay: 60 })

  test('with a smaller budget ends earlier, and loses a success that came later', () => {
    // Three failures and a success, each of 10 s on 2 CPUs, with 60 s between.
    const chain = chainUnder(three, [...fails(3), {}])
    const fate = replayChain(chain, () => policyOf({ maxRetries: 1, retryDelay: 60 }))
    // Attempts 3 and 4 are saved: 2 × 10 s × 2 CPUs, and 2 × (60 + 10) s of time.
    expect(fate).toEqual({ kind: 'EARLIER', attempts: 2, work: 2n * 10_000n * 2_000n, sooner: 140_000, lost: true })
    const { earlier, recorded } = backtest([chain], policyOf({ maxRetries: 1, retryDelay: 60 }))
    expect(recorded).toEqual({ chains: 1, attempts: 4, slotSeconds: 80, succeeded: 1 })
    expect(earlier).toMatchObject({ chains: 1, attempts: 2, slotSeconds: 40, seconds: 140, successesLost: 1 })
    expect(earlier.lost).toEqual([{ name: 'train', project: 'default', successes: 1, examples: ['c1'] }])
  })

  test('with a FAIL rule for its exit code ends after the first attempt, and loses nothing if it failed anyway', () => {
    const chain = chainUnder(three, fails(4))
    const rules = [{ match: { exitCodes: [1] }, action: 'FAIL' as const }]
    const fate = replayChain(chain, () => policyOf({ ...three, rules }))
    expect(fate).toMatchObject({ kind: 'EARLIER', attempts: 3, lost: false })
  })

  test('with other delays ends alike and later, unless the cause is transient', () => {
    const chain = chainUnder(three, [...fails(2), {}])
    expect(replayChain(chain, () => policyOf({ ...three, retryDelay: 100 }))).toEqual({ kind: 'SAME', laterMs: 80_000 })
  })

  test('that a person ended, or whose retry a person cancelled, ends alike under a larger budget', () => {
    const ended = chainUnder(three, [...fails(1), { fails: EXIT, endedBy: 'ada' }])
    const five = policyOf({ ...three, maxRetries: 5 })
    expect(replayChain(ended, () => five)).toEqual({ kind: 'SAME', laterMs: 0 })
    const cancelled = chainUnder(three, fails(4), { cancelled: true })
    expect(replayChain(cancelled, () => five)).toEqual({ kind: 'SAME', laterMs: 0 })
  })

  test('starts again with a full budget where it was resubmitted', () => {
    const one = policyOf({ maxRetries: 1 })
    const chain = chainUnder(one, [...fails(2), { fails: EXIT, epoch: 1 }, { epoch: 1 }])
    expect(chain.attempts.map(({ epoch }) => epoch)).toEqual([0, 0, 1, 1])
    expect(replayChain(chain, () => one)).toEqual({ kind: 'SAME', laterMs: 0 })
    expect(replayChain(chain, () => policyOf({ maxRetries: 0 }))).toMatchObject({
      kind: 'EARLIER',
      attempts: 1,
      lost: false,
    })
  })

  test('with other resources is unknown where these decide', () => {
    const grow = (factor: number) => {
      const scaleResources = [{ slot: 'mem', factor }]
      return policyOf({
        maxRetries: 2,
        rules: [{ match: { causes: ['OOM_KILLED'] }, action: 'RETRY', scaleResources }],
      })
    }
    // 1024, 2048, then 4096, which was enough.
    const chain = chainUnder(grow(2), [...fails(2, OOM), {}])
    expect(chain.attempts.map(({ resourceSlots }) => resourceSlots['mem'])).toEqual(['1024', '2048', '4096'])
    expect(replayChain(chain, () => grow(2))).toEqual({ kind: 'SAME', laterMs: 0 })
    // 1024 and 1536 are too little, as 2048 was; of 2304 nobody knows.
    expect(replayChain(chain, () => grow(1.5))).toEqual({ kind: 'UNKNOWN', why: 'OTHER_SIZE' })
    // 3072 was never tried.
    expect(replayChain(chain, () => grow(3))).toEqual({ kind: 'UNKNOWN', why: 'OTHER_SIZE' })
  })
})

describe('an outage', () => {
  const minutely = policyOf({ maxRetries: 5, retryDelay: 60 })
  // Lost at 0:10; retries at 1:10, 2:20 and 3:30 fail, too; the one at 4:40 succeeds. In seconds since the first
  // failure: 60, 130, 200 fail, and 270 succeeds.
  const outage = chainUnder(minutely, [...fails(4, LOST), {}])

  test('is still on before the last recorded failure, and over after the first recorded success', () => {
    // Retries at 60, 130 and 200 s, all of which fail: two successes fewer attempts, and the success is lost.
    expect(replayChain(outage, () => policyOf({ maxRetries: 3, retryDelay: 60 }))).toMatchObject({
      kind: 'EARLIER',
      lost: true,
    })
    // One retry after 300 s succeeds: three attempts fewer.
    expect(replayChain(outage, () => policyOf({ maxRetries: 1, retryDelay: 300 }))).toEqual({
      kind: 'EARLIER',
      attempts: 3,
      work: 60_000_000n,
      sooner: -30_000,
      lost: false,
    })
    // 30, 70, 110, 150 and 190 s: all within the outage.
    expect(replayChain(outage, () => policyOf({ maxRetries: 5, retryDelay: 30 }))).toMatchObject({
      kind: 'EARLIER',
      lost: true,
    })
  })

  test('is unknown between them, unless a later retry is known to succeed', () => {
    expect(replayChain(outage, () => policyOf({ maxRetries: 1, retryDelay: 235 }))).toEqual({
      kind: 'UNKNOWN',
      why: 'OTHER_TIME',
    })
    // At 235 s perhaps; at 480 s certainly.
    expect(replayChain(outage, () => policyOf({ maxRetries: 2, retryDelay: 235 }))).toMatchObject({
      kind: 'EARLIER',
      attempts: 2,
      lost: false,
    })
  })

  test('that the record does not outlast is estimated by the time since its first failure', () => {
    const short = chainUnder(policyOf({ maxRetries: 1, retryDelay: 60 }), fails(2, LOST))
    const fate = replayChain(short, () => policyOf({ maxRetries: 2, retryDelay: 100 }))
    // At 100 s (64 to 128 s: bucket 7) and at 210 s (128 to 256 s: bucket 8).
    expect(fate).toMatchObject({ kind: 'LONGER', attempts: 1, retries: [{ when: 7 }, { when: 8 }] })
  })
})

describe('retries that nobody made', () => {
  const one = policyOf({ maxRetries: 1 })
  const two = policyOf({ maxRetries: 2 })

  test('are expected to succeed as often as comparable ones, with an interval', () => {
    // Of 10 second retries 4 succeeded; 5 chains ended after the first retry.
    const compared = Array.from({ length: 10 }, (_, index) =>
      chainUnder(two, [...fails(2), index < 4 ? {} : { fails: EXIT }], { chainId: `b${index}` }),
    )
    const ended = Array.from({ length: 5 }, (_, index) => chainUnder(one, fails(2), { chainId: `a${index}` }))
    const { longer, same, unknown } = backtest([...compared, ...ended], two)
    expect(same.chains).toBe(10)
    expect(unknown).toEqual([])
    // 5 attempts more, each of 10 s on 2 CPUs; 5 × 4/10 successes; Wilson's bounds of 4 of 10 are 0.1682 and 0.6873.
    expect(longer).toMatchObject({ chains: 5, attempts: 5, slotSeconds: 100 })
    expect(longer.expected).toMatchObject({ chains: 5, n: 10 })
    expect(longer.expected.successes).toBeCloseTo(2, 10)
    expect(longer.expected.low).toBeCloseTo(5 * 0.1682, 3)
    expect(longer.expected.high).toBeCloseTo(5 * 0.6873, 3)
    expect(longer.examples).toEqual(['a4', 'a3', 'a2', 'a1', 'a0'])
  })

  test('are unknown without comparable ones: chains that their policy ended say nothing', () => {
    const ended = Array.from({ length: 5 }, (_, index) => chainUnder(one, fails(2), { chainId: `a${index}` }))
    const { longer, unknown } = backtest(ended, two)
    expect(longer.chains).toBe(0)
    expect(unknown).toMatchObject([{ reason: 'NO_COMPARABLE', chains: 5, attempts: 5, slotSeconds: 100 }])
  })

  test('are not compared with other failures, other projects or other positions', () => {
    const ended = chainUnder(one, fails(2), { chainId: 'a' })
    const others = (given: Partial<RecordedChain>, told: Told[]) =>
      Array.from({ length: 8 }, (_, index) => chainUnder(two, told, { chainId: `b${index}`, ...given }))
    const whys = [
      others({ projectName: 'other' }, [...fails(2), {}]),
      others({}, [...fails(2, { exitCode: 2 }), {}]),
      others({}, [...fails(1), {}]),
      others({}, [...fails(2), { fails: EXIT, endedBy: 'ada' }]),
    ].map((chains) => backtest([ended, ...chains], two).unknown.map(({ reason }) => reason))
    expect(whys).toEqual([['NO_COMPARABLE'], ['NO_COMPARABLE'], ['NO_COMPARABLE'], ['NO_COMPARABLE']])
    expect(backtest([ended, ...others({}, [...fails(2), {}])], two).longer.expected.successes).toBeCloseTo(1)
  })

  test('have the interval of Wilson', () => {
    // 95 of 100 intervals: (2·4 + z² ± z·√(z² + 4·4·0.6)) / (2·(10 + z²)) with z = 1.96.
    expect(wilson({ n: 10, successes: 4 })).toMatchObject({ share: 0.4 })
    expect(wilson({ n: 10, successes: 4 }).low).toBeCloseTo(0.1682, 4)
    expect(wilson({ n: 10, successes: 0 })).toMatchObject({ low: 0 })
    expect(wilson({ n: 10, successes: 0 }).high).toBeCloseTo(0.2775, 4)
  })
})

describe('any chains', () => {
  const anyTold = fc
    .record({
      fails: fc.option(
        fc
          .tuple(anyFailure, fc.boolean())
          .map(([failure, ran]) => ({ ...failure, ...(ran ? {} : { startedAt: null }) })),
        { freq: 6 },
      ),
      ranMs: fc.integer({ min: 0, max: 3_600_000 }),
      endedBy: fc.option(fc.constant('ada'), { freq: 12 }),
    })
    .map(({ fails: how, ranMs, endedBy }): Told => {
      return { ranMs, ...(how && { fails: how }), ...(endedBy && { endedBy }) }
    })
  // A jitter that is drawn is not recorded where maxElapsed ended the chain.
  const anySimplePolicy = anyPolicy.map((policy) =>
    policy.jitter === 'NONE' || policy.jitter === 'DETERMINISTIC' ? policy : { ...policy, maxElapsed: null },
  )
  const anyChain = fc
    .record({ policy: anySimplePolicy, told: fc.array(anyTold, { minLength: 1, maxLength: 12 }), id: fc.uuid() })
    .map(({ policy, told, id }) => ({ policy, chain: finished(chainUnder(policy, told, { chainId: id })) }))

  /** If the told attempts have run out, a person cancels the chain. */
  function finished(chain: RecordedChain): RecordedChain {
    return { ...chain, cancelled: chain.attempts.at(-1)!.decision!.phase === 'DISPATCHED' }
  }

  test('end alike under the policy that they had', () => {
    checkProperty(
      fc.property(anyChain, ({ policy, chain }) => {
        expect(replayChain(chain, () => policy)).toEqual({ kind: 'SAME', laterMs: 0 })
      }),
      { numRuns: 500 },
    )
  })

  test('add up: each is in one outcome, whatever their order', () => {
    checkProperty(
      fc.property(fc.array(anyChain, { maxLength: 12 }), anyPolicy, fc.nat(), (made, policy, turn) => {
        const chains = made.map(({ chain }) => chain)
        const result = backtest(chains, policy)
        const { recorded, same, earlier, longer, unknown } = result
        const sum = unknown.reduce((all, each) => all + each.chains, same.chains + earlier.chains + longer.chains)
        expect(recorded.chains).toBe(chains.length)
        expect(sum).toBe(chains.length)
        expect(earlier.successesLost).toBeLessThanOrEqual(Math.min(earlier.chains, recorded.succeeded))
        expect(longer.expected.low).toBeLessThanOrEqual(longer.expected.successes + 1e-9)
        expect(longer.expected.high).toBeGreaterThanOrEqual(longer.expected.successes - 1e-9)
        expect(longer.expected.high).toBeLessThanOrEqual(longer.chains + 1e-9)
        const at = chains.length === 0 ? 0 : turn % chains.length
        expect(backtest([...chains.slice(at), ...chains.slice(0, at)].toReversed(), policy)).toEqual(result)
      }),
      { numRuns: 200 },
    )
  })
})

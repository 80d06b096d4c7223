import type { FailureCause } from '../../session/failure.ts'
import { type Advice, examplesOf } from './advice.ts'
import { type AdvisedAttempt, isTransientFailure, retryOf, slotSecondsOf } from './attempts.ts'
import { median, quantile, successRateBelow } from './statistics.ts'

/**
 * Retries are found useless if none succeeded, and if that is certain enough: a success rate of 10 % per retry, or 20 % per
 * chain, would have shown a success with a probability of 99 %. This takes 44 retries in 21 chains.
 */
export const USELESS = { confidence: 0.99, perRetry: 0.1, perChain: 0.2 } as const

/** A failed attempt and the automatic retry of it, which has ended. */
export interface Retried {
  failed: AdvisedAttempt
  retry: AdvisedAttempt
}

/** The retries that have a result, by chain. */
export function retriedIn(chains: readonly AdvisedAttempt[][]): Retried[] {
  return chains.flatMap((chain) =>
    chain.flatMap((failed) => {
      if (failed.retryOutcome !== 'SUCCEEDED' && failed.retryOutcome !== 'FAILED') return []
      const retry = retryOf(failed, chain)
      return retry === undefined ? [] : [{ failed, retry }]
    }),
  )
}

function succeeded({ failed }: Retried): boolean {
  return failed.retryOutcome === 'SUCCEEDED'
}

function chainsOfRetried(retried: readonly Retried[]): Set<string> {
  return new Set(retried.map(({ failed }) => failed.chainId))
}

function areUseless(retried: readonly Retried[]): boolean {
  if (retried.length === 0 || retried.some(succeeded)) return false
  const { confidence, perRetry, perChain } = USELESS
  const chains = chainsOfRetried(retried).size
  return successRateBelow(retried.length, confidence) <= perRetry && successRateBelow(chains, confidence) <= perChain
}

function wastedBy(retried: readonly Retried[]): Pick<Advice, 'count' | 'slotSeconds' | 'gibHours' | 'examples'> {
  return {
    count: retried.length,
    slotSeconds: retried.reduce((sum, { retry }) => sum + slotSecondsOf(retry), 0),
    gibHours: 0,
    examples: examplesOf(chainsOfRetried(retried)),
  }
}

/** Exit codes after which no retry succeeds. Lack of memory and time have advice of their own. */
export function findUselessRetries(retried: readonly Retried[]): Advice[] {
  const programs = retried.filter(({ failed }) => failed.cause === 'KERNEL_NONZERO_EXIT' && !failed.timedOut)
  const byCode = Map.groupBy(programs, ({ failed }) => failed.exitCode)
  return [...byCode].flatMap(([exitCode, all]): Advice[] => {
    if (exitCode === null || !areUseless(all)) return []
    const cause: FailureCause = 'KERNEL_NONZERO_EXIT'
    return [
      {
        subject: `exit code ${exitCode}`,
        evidence: {
          kind: 'NEVER_SUCCEEDS',
          cause,
          exitCode,
          retries: all.length,
          chains: chainsOfRetried(all).size,
        },
        patch: {
          kind: 'POLICY',
          policy: { rules: [{ match: { causes: [cause], exitCodes: [exitCode] }, action: 'FAIL' }] },
        },
        ...wastedBy(all),
      },
    ]
  })
}

/**
 * A number of retries after which none succeeds any more, apart from exit codes for which there is advice already. Failures
 * that lie in the machines do not count: it is time that mends them, not the number of tries.
 */
export function findUnusedRetries(retried: readonly Retried[], useless: readonly Advice[]): Advice[] {
  const known = new Set(useless.map(({ evidence }) => (evidence.kind === 'NEVER_SUCCEEDS' ? evidence.exitCode : null)))
  const own = retried.filter(
    ({ failed }) =>
      !isTransientFailure(failed) && (failed.cause !== 'KERNEL_NONZERO_EXIT' || !known.has(failed.exitCode)),
  )
  const last = Math.max(0, ...own.filter(succeeded).map(({ failed }) => failed.retry + 1))
  const late = own.filter(({ failed }) => failed.retry + 1 > last)
  if (last === 0 || !areUseless(late)) return []
  const evidence = {
    kind: 'RETRIES_UNUSED' as const,
    after: last,
    retries: late.length,
    chains: chainsOfRetried(late).size,
    maxRetries: median(late.map(({ failed }) => failed.maxRetries)),
  }
  return [
    { subject: 'maxRetries', evidence, patch: { kind: 'POLICY', policy: { maxRetries: last } }, ...wastedBy(late) },
  ]
}

/** Failures of one outage follow each other within this time. */
const OUTAGE_GAP_MS = 600_000
/** An outage that is worth advice hits at least this many chains, and there are at least so many outages. */
export const OUTAGE_CHAINS = 3
export const OUTAGES = 5
/** Delays cover this share of the outages, and a reserve. */
const COVERED_SHARE = 0.8
const COVERED_RESERVE = 1.25

/** Causes whose outages last longer than the retries of the chains that they hit. */
export function findLongOutages(chains: readonly AdvisedAttempt[][]): Advice[] {
  const failures = chains.flatMap((chain) => chain.filter(isTransientFailure).map((attempt) => ({ attempt, chain })))
  const byCause = Map.groupBy(failures, ({ attempt }) => attempt.cause!)
  return [...byCause].flatMap(([cause, all]): Advice[] => {
    const hit = outagesOf(all)
      .map(outageFacts)
      .filter(({ chainIds }) => chainIds.size >= OUTAGE_CHAINS)
    const spans = hit.flatMap(({ lostAfterSeconds }) => lostAfterSeconds)
    if (hit.length < OUTAGES || spans.length === 0) return []
    const retriesSeconds = median(spans)
    const longer = hit.filter(
      ({ seconds, lostAfterSeconds }) => lostAfterSeconds.length > 0 && seconds > retriesSeconds,
    )
    if (longer.length * 2 <= hit.length) return []
    const lost = all.filter(({ attempt }) => attempt.lost)
    const durations = hit.map(({ seconds }) => seconds).toSorted((a, b) => a - b)
    const retries = Math.max(1, median(lost.map(({ attempt }) => attempt.maxRetries)))
    const delay = Math.ceil((quantile(durations, COVERED_SHARE) * COVERED_RESERVE) / retries)
    const chainIds = lost.map(({ attempt }) => attempt.chainId)
    return [
      {
        subject: cause,
        evidence: {
          kind: 'OUTAGE_TOO_LONG',
          cause,
          outages: hit.length,
          longer: longer.length,
          retriesSeconds,
          chains: new Set(chainIds).size,
        },
        patch: { kind: 'POLICY', policy: { rules: [{ match: { causes: [cause] }, action: 'RETRY', delay }] } },
        count: new Set(chainIds).size,
        slotSeconds: lost.reduce(
          (sum, { chain }) => sum + chain.reduce((own, each) => own + slotSecondsOf(each), 0),
          0,
        ),
        gibHours: 0,
        examples: examplesOf(chainIds),
      },
    ]
  })
}

interface InChain {
  attempt: AdvisedAttempt
  chain: readonly AdvisedAttempt[]
}

function outagesOf(failures: readonly InChain[]): InChain[][] {
  const outages: InChain[][] = []
  for (const each of failures.toSorted((a, b) => a.attempt.endedMs - b.attempt.endedMs)) {
    const last = outages.at(-1)?.at(-1)
    if (last === undefined || each.attempt.endedMs - last.attempt.endedMs > OUTAGE_GAP_MS) outages.push([each])
    else outages.at(-1)!.push(each)
  }
  return outages
}

function outageFacts(failures: readonly InChain[]) {
  const [firstMs, lastMs] = [failures[0]!.attempt.endedMs, failures.at(-1)!.attempt.endedMs]
  const lost = failures.filter(({ attempt }) => attempt.lost)
  return {
    seconds: (lastMs - firstMs) / 1_000,
    chainIds: new Set(failures.map(({ attempt }) => attempt.chainId)),
    /** From the first such failure of each lost chain to its last one. */
    lostAfterSeconds: lost.map(({ attempt, chain }) => {
      const first = chain.find(({ cause }) => cause === attempt.cause)!
      return (attempt.endedMs - first.endedMs) / 1_000
    }),
  }
}

/** As many chains of one group of failures within this time are a burst; advice needs several. */
export const BURST = { chains: 10, windowSeconds: 600, times: 2, failedShare: 0.8 } as const

/** Groups of failures that hit many chains at once, and whose retries then mostly failed. */
export function findBursts(retried: readonly Retried[]): Advice[] {
  const known = retried.filter(({ failed }) => failed.failureGroupId !== null && !isTransientFailure(failed))
  const byGroup = Map.groupBy(known, ({ failed }) => failed.failureGroupId!)
  return [...byGroup].flatMap(([failureGroupId, all]): Advice[] => {
    const bursts = burstsOf(all)
    if (bursts.length < BURST.times) return []
    const failed = bursts.flat().filter((each) => !succeeded(each))
    return [
      {
        subject: failureGroupId,
        evidence: {
          kind: 'MANY_FAIL_AT_ONCE',
          failureGroupId,
          times: bursts.length,
          chains: chainsOfRetried(bursts.flat()).size,
          retries: failed.length,
        },
        patch: {
          kind: 'BREAKER',
          breaker: { failures: BURST.chains, chains: BURST.chains, window: BURST.windowSeconds },
        },
        ...wastedBy(failed),
      },
    ]
  })
}

function burstsOf(retried: readonly Retried[]): Retried[][] {
  const windowMs = BURST.windowSeconds * 1_000
  const byWindow = Map.groupBy(retried, ({ failed }) => Math.floor(failed.endedMs / windowMs))
  return [...byWindow.values()].filter(
    (all) =>
      chainsOfRetried(all).size >= BURST.chains && all.filter(succeeded).length <= (1 - BURST.failedShare) * all.length,
  )
}

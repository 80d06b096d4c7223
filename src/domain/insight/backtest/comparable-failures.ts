import { BACKTEST_COMPARABLE_MIN } from '../../limits.ts'
import type { FailureCause } from '../../session/failure.ts'

/**
 * Which recorded retries tell how a retry might end that nobody made: those in the same project after the same failure,
 * at the same position in the chain. After a transient failure the position is the time since the first failure, because
 * the delay itself decides whether the outage is over.
 */

/** What a failure is compared by. */
export interface FailedTry {
  cause: FailureCause | null
  /** The name of the failure, such as `task-timeout`. */
  failure: string | null
  exitCode: number | null
}

export interface RetryKind extends FailedTry {
  /** Whether it got more resources than the attempt before. */
  grew: boolean
  /** The number of the failed attempt in its epoch, from 1; after a transient failure, the bucket of `sinceBucket`. */
  when: number
}

/** Causes that lie in the machines: they pass, or they do not. */
const TRANSIENT_CAUSES: readonly (FailureCause | null)[] = [
  'AGENT_TRANSIENT',
  'SCHEDULER_TIMEOUT',
  'IMAGE_PULL_FAILURE',
]

export function isTransient(cause: FailureCause | null): boolean {
  return TRANSIENT_CAUSES.includes(cause)
}

/** The bucket of a time since the first failure: 0 below one second, then one for each doubling. */
export function sinceBucket(sinceMs: number): number {
  return sinceMs < 1_000 ? 0 : 1 + Math.floor(Math.log2(sinceMs / 1_000))
}

export interface Counted {
  n: number
  successes: number
}

/** An estimated share with the bounds of its Wilson interval. */
export interface Share {
  share: number
  low: number
  high: number
}

/** The 97.5 % quantile of the normal distribution: the interval holds the true share in 95 of 100 cases. */
const Z = 1.959964

/** Wilson's interval: also right for few observations, and for shares near 0 and 1. */
export function wilson({ n, successes }: Counted): Share {
  const share = successes / n
  const z2 = Z * Z
  const middle = (share + z2 / (2 * n)) / (1 + z2 / n)
  const half = (Z / (1 + z2 / n)) * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n))
  return { share, low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

/** The share of chains of which at least one of these retries succeeds, if each depends only on its own kind. */
export function anySucceeds(kinds: readonly Counted[]): Share {
  const shares = kinds.map(wilson)
  const any = (of: (share: Share) => number) => 1 - shares.reduce((none, share) => none * (1 - of(share)), 1)
  return { share: any(({ share }) => share), low: any(({ low }) => low), high: any(({ high }) => high) }
}

/** Identifies a kind of retry within a project. */
export function kindKey(projectName: string, { cause, failure, exitCode, grew, when }: RetryKind): string {
  return JSON.stringify([projectName, cause, failure, isTransient(cause) ? null : exitCode, grew, when])
}

export function isEnough({ n }: Counted): boolean {
  return n >= BACKTEST_COMPARABLE_MIN
}

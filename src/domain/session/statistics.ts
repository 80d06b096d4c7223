import type { FailureCause } from './causes.ts'
import type { SessionResult, SessionStatus } from './statuses.ts'

/** The number of sessions that ended in one span of time and are alike in these fields. */
export interface OverCount {
  /** The number of the span, from 0. */
  bucket: number
  status: SessionStatus
  result: SessionResult
  /** Whether it was an automatic retry. */
  retry: boolean
  failureCause: FailureCause | null
  /** Why its parent failed. */
  retryCause: FailureCause | null
  count: number
}

/** Figures about sessions that ended; a rate is null if its denominator is 0. */
export interface SessionFigures {
  ended: number
  succeeded: number
  failed: number
  /** Ended by a person before they had a result. */
  cancelled: number
  retries: number
  retriesSucceeded: number
  /** The fraction of the ended sessions that were retries. */
  retryRate: number | null
  /** The fraction of the retries that succeeded. */
  retrySuccessRate: number | null
}

export interface CauseFigures {
  cause: FailureCause
  failed: number
  /** Retries because of this cause that ended. */
  retries: number
  retriesSucceeded: number
  retrySuccessRate: number | null
}

export function figuresOf(counts: readonly OverCount[]): SessionFigures {
  const sum = (wanted: (count: OverCount) => boolean) => total(counts.filter(wanted))
  const ended = total(counts)
  const retries = sum(({ retry }) => retry)
  const retriesSucceeded = sum(({ retry, result }) => retry && result === 'SUCCESS')
  return {
    ended,
    succeeded: sum(({ result }) => result === 'SUCCESS'),
    failed: sum(({ result }) => result === 'FAILURE'),
    cancelled: sum(({ result }) => result === 'UNDEFINED'),
    retries,
    retriesSucceeded,
    retryRate: share(retries, ended),
    retrySuccessRate: share(retriesSucceeded, retries),
  }
}

export interface BucketFigures extends SessionFigures {
  byCause: CauseFigures[]
}

/** One entry per span, including spans in which nothing ended. */
export function figuresByBucket(counts: readonly OverCount[], buckets: number): BucketFigures[] {
  const byBucket = Map.groupBy(counts, ({ bucket }) => bucket)
  return Array.from({ length: buckets }, (_, bucket) => {
    const own = byBucket.get(bucket) ?? []
    return { ...figuresOf(own), byCause: figuresByCause(own) }
  })
}

/** The causes that occurred, the most frequent first. */
export function figuresByCause(counts: readonly OverCount[]): CauseFigures[] {
  const failures = counts.filter(({ result }) => result === 'FAILURE')
  const causes = new Set([
    ...failures.map(({ failureCause }) => failureCause),
    ...counts.map(({ retryCause }) => retryCause),
  ])
  return [...causes]
    .filter((cause) => cause !== null)
    .map((cause) => {
      const retried = counts.filter(({ retry, retryCause }) => retry && retryCause === cause)
      const retries = total(retried)
      const retriesSucceeded = total(retried.filter(({ result }) => result === 'SUCCESS'))
      const failed = total(failures.filter(({ failureCause }) => failureCause === cause))
      return { cause, failed, retries, retriesSucceeded, retrySuccessRate: share(retriesSucceeded, retries) }
    })
    .toSorted((a, b) => b.failed - a.failed || b.retries - a.retries || (a.cause < b.cause ? -1 : 1))
}

export function countsByStatus(counts: readonly OverCount[]): { status: SessionStatus; count: number }[] {
  return [...Map.groupBy(counts, ({ status }) => status)].map(([status, alike]) => ({ status, count: total(alike) }))
}

function total(counts: readonly OverCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

import type { SessionResult, SessionStatus } from './lifecycle.ts'
import type { FailureCause } from './failure.ts'

/** A change of a session's status. */
export interface StatusStep {
  to: SessionStatus
  at: Date
}

/** The times at which a session began and ended; null until then. */
export interface SessionTimes {
  createdAt: Date
  /** The start of user code. */
  startedAt: Date | null
  terminatedAt: Date | null
}

/** Durations in seconds. Their sum is the session's age. */
export interface SessionDurations {
  queued: number
  preparing: number
  running: number
  ending: number
}

const PARTS: Readonly<Record<SessionStatus, keyof SessionDurations | null>> = {
  PENDING: 'queued',
  SCHEDULED: 'preparing',
  PREPARING: 'preparing',
  PULLING: 'preparing',
  PREPARED: 'preparing',
  CREATING: 'preparing',
  RUNNING: 'running',
  TERMINATING: 'ending',
  TERMINATED: null,
  ERROR: null,
  CANCELLED: null,
}

/**
 * Sums up how long a session was in each phase, up to `now` if it has not ended. The time in the queue includes later
 * returns to it. User code may start before the scheduler notices it; the session counts as running from its start.
 */
export function durationsOf(times: SessionTimes, steps: readonly StatusStep[], now: Date): SessionDurations {
  const durations: SessionDurations = { queued: 0, preparing: 0, running: 0, ending: 0 }
  const end = (times.terminatedAt ?? now).getTime()
  const started = times.startedAt?.getTime() ?? Infinity
  const add = (part: keyof SessionDurations, from: number, to: number) => {
    durations[part] += Math.max(0, to - from) / 1_000
  }
  let part: keyof SessionDurations | null = 'queued'
  let from = times.createdAt.getTime()
  for (const step of [...steps, { to: null, at: new Date(end) }]) {
    // The clock that stamps the rows of a transaction may be behind that of the transaction before.
    const to = Math.min(end, Math.max(from, step.at.getTime()))
    if (part === 'preparing' && started < to) {
      add('preparing', from, started)
      add('running', Math.max(from, started), to)
    } else if (part !== null) {
      add(part, from, to)
    }
    from = to
    part = step.to && PARTS[step.to]
  }
  return durations
}

/** The number of sessions that ended in one span of time and have equal values in these fields. */
export interface OverCount {
  /** The number of the span, from 0. */
  bucket: number
  status: SessionStatus
  result: SessionResult
  /** Whether it was an automatic retry. */
  retry: boolean
  failureCause: FailureCause | null
  /** The cause of its parent's failure. */
  retryCause: FailureCause | null
  timedOut: boolean
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
  /** The number of these that their batch timeout ended. */
  timedOut: number
  /** Ended sessions that were retries because of this cause. */
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

/** Computes the figures of each span, including spans in which nothing ended. */
export function figuresByBucket(counts: readonly OverCount[], buckets: number): BucketFigures[] {
  const byBucket = Map.groupBy(counts, ({ bucket }) => bucket)
  return Array.from({ length: buckets }, (_, bucket) => {
    const own = byBucket.get(bucket) ?? []
    return { ...figuresOf(own), byCause: figuresByCause(own) }
  })
}

/** Computes figures for each cause that occurred, the most frequent first. */
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
      const ofCause = failures.filter(({ failureCause }) => failureCause === cause)
      const [failed, timedOut] = [total(ofCause), total(ofCause.filter((each) => each.timedOut))]
      return { cause, failed, timedOut, retries, retriesSucceeded, retrySuccessRate: share(retriesSucceeded, retries) }
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

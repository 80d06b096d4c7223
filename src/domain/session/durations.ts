import type { SessionStatus } from './statuses.ts'

/** A change of a session's status. */
export interface StatusStep {
  to: SessionStatus
  at: Date
}

/** When a session began and ended; null while it has not. */
export interface SessionTimes {
  createdAt: Date
  /** When user code began. */
  startedAt: Date | null
  terminatedAt: Date | null
}

/** Seconds. They sum up to the session's age. */
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
 * How long a session was in what, up to `now` if it has not ended. A session that was placed again and again is queued
 * several times. User code may begin before the scheduler has noticed: from then on the session runs.
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
    // The clock that stamps the rows of a transaction may be behind that of the one before.
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

import { SCHEDULE_LATE_AFTER_SECONDS, SCHEDULE_MISSED_COUNTED_MAX, SCHEDULE_ON_TIME_MAX } from '../limits.ts'
import type { Timetable } from './timetable.ts'

/** Planned times that are not made: from the first to the last of them. */
export interface MissedRuns {
  from: Date
  to: Date
  count: number
  /** There were more than were counted. */
  more: boolean
}

export interface PlannedRuns {
  /** Planned times that are due, oldest first. */
  runs: Date[]
  missed: MissedRuns | null
  /** The next planned time, and when it is due; null if there is none any more. */
  next: { plannedAt: Date; dueAt: Date } | null
}

/**
 * What is due of a schedule whose next planned time was `plannedAt`. A time is late when it was due for longer than
 * SCHEDULE_LATE_AFTER_SECONDS; of the late ones the last `catchUp` are made, and the others are missed. The work is
 * bounded, however long ago `plannedAt` is.
 */
export function planRuns(options: {
  timetable: Timetable
  plannedAt: Date
  now: Date
  catchUp: number
  /** Seconds by which the run of a planned time is delayed. */
  delayOf: (plannedAt: Date) => number
}): PlannedRuns {
  const { timetable, plannedAt, now, catchUp, delayOf } = options
  const dueAtOf = (time: Date) => new Date(time.getTime() + Math.round(delayOf(time) * 1000))
  if (now < plannedAt) return { runs: [], missed: null, next: { plannedAt, dueAt: dueAtOf(plannedAt) } }
  const { times, earlier } = passed(timetable, plannedAt, now, catchUp + SCHEDULE_ON_TIME_MAX)
  const waiting = times.findIndex((time) => dueAtOf(time) > now)
  const due = waiting === -1 ? times : times.slice(0, waiting)
  const nextAt = waiting === -1 ? timetable.after(now) : times[waiting]!
  const isLate = (time: Date) => now.getTime() - dueAtOf(time).getTime() > SCHEDULE_LATE_AFTER_SECONDS * 1000
  const late = due.filter(isLate)
  const given = late.slice(0, Math.max(0, late.length - catchUp))
  const runs = due.slice(given.length)
  return {
    runs,
    missed: missedOf([...earlier.times, ...given], earlier.more, given.at(-1) ?? earlier.to),
    next: nextAt && { plannedAt: nextAt, dueAt: dueAtOf(nextAt) },
  }
}

interface Passed {
  /** The last ones up to now, oldest first. */
  times: Date[]
  /** Those before them, as far as they are counted. */
  earlier: { times: Date[]; more: boolean; to: Date | null }
}

/** The planned times from `from` to `now`. */
function passed(timetable: Timetable, from: Date, now: Date, most: number): Passed {
  const times: Date[] = []
  const none = { times: [], more: false, to: null }
  let time: Date | null = from
  while (time !== null && time <= now && times.length <= most + SCHEDULE_MISSED_COUNTED_MAX) {
    times.push(time)
    time = timetable.after(time)
  }
  if (time === null || time > now) {
    const cut = Math.max(0, times.length - most)
    const counted = times.slice(0, cut)
    return { times: times.slice(cut), earlier: { times: counted, more: false, to: counted.at(-1) ?? null } }
  }
  // A long time has passed: those in between are not looked at one by one.
  const last = timetable.upTo(now, most + 1)
  const [to, ...rest] = last
  return to === undefined
    ? { times, earlier: none }
    : { times: rest, earlier: { times: times.slice(0, SCHEDULE_MISSED_COUNTED_MAX), more: true, to } }
}

function missedOf(times: readonly Date[], more: boolean, to: Date | null): MissedRuns | null {
  const [from] = times
  if (from === undefined || to === null) return null
  return { from, to, count: times.length, more }
}

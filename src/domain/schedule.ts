import { Cron } from 'croner'
import { createHash } from 'node:crypto'
import {
  SCHEDULE_LATE_AFTER_SECONDS,
  SCHEDULE_MISSED_COUNTED_MAX,
  SCHEDULE_ON_TIME_MAX,
  SCHEDULE_QUEUE_MAX,
} from './limits.ts'

/** When a schedule runs: by a cron expression in a time zone, or at an interval that is counted from an anchor. */
export interface Timing {
  /** Five fields, or a name such as `@daily`; null if there is an interval. */
  cron: string | null
  /** Interval in seconds; null if there is a cron expression. */
  every: number | null
  timeZone: string
  anchorAt: Date
}

interface Timetable {
  /** The first planned time after this one; null if there is none. */
  after(time: Date): Date | null
  /** The last `count` planned times up to and including this one, oldest first. */
  upTo(time: Date, count: number): Date[]
}

/** Six fields would mean seconds, and a date would run only once; both are refused. */
const CRON = /^\s*(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|(?:\S+\s+){4}\S+)\s*$/i

/**
 * Creates the timetable of a schedule. Local times that daylight saving repeats or skips are treated as in Vixie cron:
 * an expression whose minutes and hours have neither `*` nor steps runs once on each of its days, at the first of two
 * equal times, or right after the gap. Any other expression runs whenever the local clock shows one of its times.
 *
 * @throws Error for an invalid expression or an unknown time zone
 */
export function createTimetable(timing: Timing): Timetable {
  const { cron, every, timeZone, anchorAt } = timing
  if (cron !== null) return cronTimetable(cron, timeZone)
  return intervalTimetable(Math.round(every! * 1000), anchorAt.getTime())
}

const SECOND_MS = 1000

/** Describes what is wrong with an expression; null if nothing is. The expression must have a time after `from`. */
export function cronFault(expression: string, from: Date): string | null {
  try {
    const next = cronTimetable(expression, 'UTC').after(from)
    return next === null ? 'never comes' : null
  } catch (error) {
    return (error as Error).message.replace(/^\w+: /, '')
  }
}

/**
 * Returns the name in the form that is stored; null if there is no such time zone. Offsets are not accepted, because
 * they have no daylight saving.
 */
export function timeZoneOf(name: string): string | null {
  if (!/^[A-Za-z]/.test(name)) return null
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone === '' ? null : name
  } catch {
    return null
  }
}

/** Six bytes stay below 2^48, so that the number is exact. */
const DIGEST_BYTES = 6

/** Returns the delay of a run in seconds, from 0 to `jitter`: always the same for one planned time. */
export function jitterOf(scheduleId: string, plannedAt: Date, jitter: number): number {
  if (jitter === 0) return 0
  const digest = createHash('sha256').update(`${scheduleId} ${plannedAt.getTime()}`).digest()
  return (digest.readUIntBE(0, DIGEST_BYTES) / 2 ** (8 * DIGEST_BYTES)) * jitter
}

/** Planned times that are skipped: the first and the last of them. */
export interface MissedRuns {
  from: Date
  to: Date
  count: number
  /** Whether there were more than were counted. */
  more: boolean
}

interface PlannedRuns {
  /** Due planned times, oldest first. */
  runs: Date[]
  missed: MissedRuns | null
  /** The next planned time, and when it is due; null if there is none. */
  next: { plannedAt: Date; dueAt: Date } | null
}

/**
 * Plans the due runs of a schedule whose next planned time was `plannedAt`. A run is late if it was due longer than
 * SCHEDULE_LATE_AFTER_SECONDS ago. Of the late runs the last `catchUp` are started, and the others are missed. The work
 * is bounded, however long ago `plannedAt` is.
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
  /** The last planned times up to now, oldest first. */
  times: Date[]
  /** The planned times before them, as far as they are counted. */
  earlier: { times: Date[]; more: boolean; to: Date | null }
}

/** The treatment of a run that is due while an earlier one is still running. */
export const SCHEDULE_OVERLAPS = ['SKIP', 'QUEUE', 'CANCEL_OTHER'] as const
export type ScheduleOverlap = (typeof SCHEDULE_OVERLAPS)[number]
/** The possible outcomes of a run. */
export const SCHEDULE_RUN_OUTCOMES = ['STARTED', 'QUEUED', 'SKIPPED', 'MISSED', 'REFUSED'] as const
export type ScheduleRunOutcome = (typeof SCHEDULE_RUN_OUTCOMES)[number]

/** A run that is due now, or that has been queued since it was due. */
export interface Candidate {
  plannedAt: Date
  /** The id of its row if it is already queued. */
  queuedId: string | null
}

export interface AdmittedRuns {
  /** The run to start now: at most one, because the next would overlap it. */
  start: Candidate | null
  wait: Candidate[]
  skip: { run: Candidate; reason: string }[]
  /** Whether the current run must be ended so that the waiting run can start. */
  cancelOther: boolean
}

export const SKIPPED_FOR_EARLIER = 'an earlier run is still running'
export const SKIPPED_FOR_QUEUE = `${SCHEDULE_QUEUE_MAX} runs wait already`
export const REPLACED = 'a later run takes its place'

/**
 * Decides about runs of one schedule, oldest first, and queued ones before newly due ones. `open` is whether a chain of
 * the schedule is still running. With CANCEL_OTHER only the newest run counts; it waits until the current one has
 * ended.
 */
export function admitRuns(options: {
  overlap: ScheduleOverlap
  open: boolean
  waiting: readonly Candidate[]
  due: readonly Candidate[]
}): AdmittedRuns {
  const { overlap, open, waiting, due } = options
  const runs = [...waiting, ...due]
  const newest = runs.at(-1)
  if (newest === undefined) return { start: null, wait: [], skip: [], cancelOther: false }
  if (overlap === 'CANCEL_OTHER') {
    const skip = runs.slice(0, -1).map((run) => ({ run, reason: REPLACED }))
    if (!open) return { start: newest, wait: [], skip, cancelOther: false }
    return { start: null, wait: [newest], skip, cancelOther: due.length > 0 }
  }
  const [first, ...rest] = runs
  const start = open ? null : first!
  const others = open ? runs : rest
  // Runs that are already queued stay queued, even if the schedule has changed since.
  const places = overlap === 'QUEUE' ? SCHEDULE_QUEUE_MAX : 0
  const wait = others.filter((run, index) => run.queuedId !== null || index < places)
  const reason = overlap === 'QUEUE' ? SKIPPED_FOR_QUEUE : SKIPPED_FOR_EARLIER
  const skip = others.filter((run) => !wait.includes(run)).map((run) => ({ run, reason }))
  return { start, wait, skip, cancelOther: false }
}

function cronTimetable(expression: string, timezone: string): Timetable {
  if (!CRON.test(expression)) throw new Error('must have five fields: minute, hour, day of month, month, day of week')
  const cron = new Cron(expression.trim(), { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true })
  return {
    after: (time) => cron.nextRun(time),
    // The library searches before the given second.
    upTo: (time, count) => cron.previousRuns(count, nextSecond(time)).toReversed(),
  }
}

function nextSecond(time: Date): Date {
  return new Date((Math.floor(time.getTime() / SECOND_MS) + 1) * SECOND_MS)
}

function intervalTimetable(everyMs: number, anchorMs: number): Timetable {
  const at = (turn: number) => new Date(anchorMs + turn * everyMs)
  const turnOf = (time: Date) => Math.floor((time.getTime() - anchorMs) / everyMs)
  return {
    after: (time) => at(Math.max(1, turnOf(time) + 1)),
    upTo(time, count) {
      const last = turnOf(time)
      const first = Math.max(1, last - count + 1)
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => at(first + index))
    },
  }
}

/** Collects the planned times from `from` to `now`. */
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
  // After a long time, the times in between are not examined one by one.
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

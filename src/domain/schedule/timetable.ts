import { Cron } from 'croner'

/** When a schedule runs: by a cron expression in a time zone, or at an interval that is counted from an anchor. */
export interface Timing {
  /** Five fields, or a name like `@daily`; null if there is an interval. */
  cron: string | null
  /** Seconds; null if there is a cron expression. */
  every: number | null
  timeZone: string
  anchorAt: Date
}

export interface Timetable {
  /** The first planned time after this one; null if there is none. */
  after(time: Date): Date | null
  /** The last `count` planned times up to and with this one, oldest first. */
  upTo(time: Date, count: number): Date[]
}

/** Six fields would be seconds, and a date would run once. */
const CRON = /^\s*(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|(?:\S+\s+){4}\S+)\s*$/i

/**
 * Local times that daylight saving repeats or skips, as Vixie cron has it: an expression without `*` and steps in its
 * minutes and hours runs once a day that it names, at the first of two equal times, or right after the gap. Any other
 * runs whenever the clock of its zone shows one of its times.
 *
 * @throws Error for an expression or a zone that does not exist
 */
export function createTimetable(timing: Timing): Timetable {
  const { cron, every, timeZone, anchorAt } = timing
  if (cron !== null) return cronTimetable(cron, timeZone)
  return intervalTimetable(Math.round(every! * 1000), anchorAt.getTime())
}

function cronTimetable(expression: string, timezone: string): Timetable {
  if (!CRON.test(expression)) throw new Error('must have five fields: minute, hour, day of month, month, day of week')
  const cron = new Cron(expression.trim(), { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true })
  return {
    after: (time) => cron.nextRun(time),
    // The library looks for those before the second that it is given.
    upTo: (time, count) => cron.previousRuns(count, nextSecond(time)).toReversed(),
  }
}

const SECOND_MS = 1000

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

/** What is wrong with an expression; null if nothing is. `from`: it must have a time after this one. */
export function cronFault(expression: string, from: Date): string | null {
  try {
    const next = cronTimetable(expression, 'UTC').after(from)
    return next === null ? 'never comes' : null
  } catch (error) {
    return (error as Error).message.replace(/^\w+: /, '')
  }
}

/** The name as it is to be stored; null if there is no such time zone. Offsets are none: they know no daylight saving. */
export function timeZoneOf(name: string): string | null {
  if (!/^[A-Za-z]/.test(name)) return null
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone === '' ? null : name
  } catch {
    return null
  }
}

/** Keeps a number and its unit on one line. */
const SPACE = '\u00a0'

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const

/**
 * A duration in one unit, for narrow places: `0.3 s`, `16 s`, `12 m`, `2 h`, `3 d`. Rounded down above ten seconds.
 */
export function shortDuration(seconds: number): string {
  if (seconds < 10) return tenths(seconds)
  const [size, unit] = UNITS.find(([each]) => seconds >= each)!
  return `${Math.floor(seconds / size)}${SPACE}${unit}`
}

/** A duration in two units: `3.4 s`, `1 m 5 s`, `2 h 14 m`, `3 d 4 h`. Smaller units are left out. */
export function duration(seconds: number): string {
  if (seconds < 10) return tenths(seconds)
  const whole = Math.floor(seconds)
  const first = UNITS.findIndex(([size]) => whole >= size)
  let rest = whole
  const parts: string[] = []
  for (const [size, unit] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count}${SPACE}${unit}`)
  }
  return parts.join(SPACE)
}

/** The time left until something happens: `0:06`, `12:05`, `2:14:07`, `3 d 4 h`. `0:00` once it is due. */
export function countdown(seconds: number): string {
  const left = Math.max(0, Math.ceil(seconds))
  if (left >= 86_400) return duration(left)
  const [hours, minutes, rest] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60]
  const clock = `${minutes}:${String(rest).padStart(2, '0')}`
  return hours === 0 ? clock : `${hours}:${clock.padStart(5, '0')}`
}

/** Seconds to tenths, as `9.9 s` or `10 s`, never `10.0 s`; never 0 for a positive duration. */
function tenths(seconds: number): string {
  if (seconds <= 0) return `0${SPACE}s`
  if (seconds < 0.05) return `<${SPACE}0.1${SPACE}s`
  return `${Math.min(9.9, Math.round(seconds * 10) / 10)}${SPACE}s`
}

/** The formats of times in one time zone. Times are milliseconds since 1970. */
export interface Moments {
  /** `2026-11-23 12:04:31 UTC`, for places where it may be copied. */
  absolute(at: number): string
  /** `12:04:31` */
  clock(at: number): string
  /** `12:04` */
  minute(at: number): string
  /** `23 Nov` */
  day(at: number): string
  /** `UTC`, `+02:00`: the zone of times that are written without one. */
  zone(at: number): string
  /** The zone's offset from UTC. */
  offsetMinutes(at: number): number
}

const UTC = 'UTC'
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const
const MINUTE_MS = 60_000

/**
 * Times in UTC or in the zone of this machine. Absolute times always include the zone. `Intl` is not used: its first
 * use takes a browser as long as all rows of a list.
 */
export function momentsIn(timeZone: 'UTC' | 'local'): Moments {
  const isUtc = timeZone === UTC || isAlwaysUtc()
  const offsetMinutes = (at: number) => (isUtc ? 0 : 0 - new Date(at).getTimezoneOffset())
  /** `2026-11-23T12:04:31` and fractions, in the local zone. */
  const isoOf = (at: number) => new Date(at + offsetMinutes(at) * MINUTE_MS).toISOString()
  const zone = (at: number) => (isUtc ? UTC : offsetWords(offsetMinutes(at)))
  return {
    absolute: (at) => `${isoOf(at).slice(0, 19).replace('T', ' ')} ${zone(at)}`,
    clock: (at) => isoOf(at).slice(11, 19),
    minute: (at) => isoOf(at).slice(11, 16),
    day: (at) => `${Number(isoOf(at).slice(8, 10))} ${MONTHS[Number(isoOf(at).slice(5, 7)) - 1]!}`,
    zone,
    offsetMinutes,
  }
}

/** `12 s ago`, `2 h ago`, `in 5 m`; `now` within a second. */
export function relativeMoment(at: number, now: number): string {
  const seconds = (at - now) / 1000
  if (Math.abs(seconds) < 1) return 'now'
  const whole = shortDuration(Math.floor(Math.abs(seconds)))
  return seconds > 0 ? `in\u00a0${whole}` : `${whole}\u00a0ago`
}

/** Whether the local zone is UTC in winter and in summer. */
function isAlwaysUtc(): boolean {
  return [0, 6].every((month) => new Date(2026, month).getTimezoneOffset() === 0)
}

/** `+02:00`, `-03:30` */
function offsetWords(minutes: number): string {
  const of = Math.abs(minutes)
  const two = (number: number) => String(number).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(of / 60))}:${two(Math.floor(of % 60))}`
}

/** A time limit in words; null for none. */
export function limitInWords(seconds: number | null): string | null {
  return seconds === null ? null : duration(seconds)
}

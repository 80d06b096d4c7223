import { shortDuration } from './duration.ts'

/** How moments are written in one time zone. Moments are milliseconds since 1970. */
export interface Moments {
  /** `2026-11-23 12:04:31 UTC`: for where somebody may copy it. */
  absolute(at: number): string
  /** `12:04:31` */
  clock(at: number): string
  /** `12:04` */
  minute(at: number): string
  /** `23 Nov` */
  day(at: number): string
  /** `UTC`, `+02:00`: of what is written without it. */
  zone(at: number): string
  /** What that zone is ahead of UTC. */
  offsetMinutes(at: number): number
}

const UTC = 'UTC'

/** `timeZone`: `UTC`, or a name such as `Europe/Berlin`. Absolute moments always say which zone they are in. */
export function momentsIn(timeZone: string): Moments {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  })
  const dayFormat = new Intl.DateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'short' })
  const partsOf = (at: number) => Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const minute = ({ hour, minute: minutes }: Record<string, string>) => `${hour}:${minutes}`
  const clock = (parts: Record<string, string>) => `${minute(parts)}:${parts['second']}`
  const zoneOf = (parts: Record<string, string>) => (timeZone === UTC ? UTC : offsetOf(parts['timeZoneName']!))
  return {
    absolute(at) {
      const parts = partsOf(at)
      const zone = zoneOf(parts)
      return `${parts['year']!.padStart(4, '0')}-${parts['month']}-${parts['day']} ${clock(parts)} ${zone}`
    },
    clock: (at) => clock(partsOf(at)),
    minute: (at) => minute(partsOf(at)),
    day: (at) => dayFormat.format(at),
    zone: (at) => zoneOf(partsOf(at)),
    offsetMinutes: (at) => minutesOf(zoneOf(partsOf(at))),
  }
}

/** `12 s ago`, `2 h ago`, `in 5 m`; `now` within a second. */
export function relativeMoment(at: number, now: number): string {
  const seconds = (at - now) / 1000
  if (Math.abs(seconds) < 1) return 'now'
  const whole = shortDuration(Math.floor(Math.abs(seconds)))
  return seconds > 0 ? `in\u00a0${whole}` : `${whole}\u00a0ago`
}

/** `UTC`, `-03:30` */
function minutesOf(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)/.exec(zone) ?? []
  return hours === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes))
}

/** `GMT+02:00` → `+02:00`; `GMT` is zero. */
function offsetOf(name: string): string {
  return name.replace('GMT', '') || '+00:00'
}

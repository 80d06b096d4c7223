/** `0.4 s`, `12 s`, `3 m 5 s`, `2 h 10 m`, `4 d 3 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–'
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`
  const whole = Math.round(seconds)
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'm'],
    [1, 's'],
  ] as const
  const first = units.findIndex(([size]) => whole >= size)
  let rest = whole
  const parts = units.slice(first, first + 2).map(([size, unit]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? '' : `${count} ${unit}`
  })
  return parts.filter(Boolean).join(' ')
}

/** `3 m 5 s ago`, `in 12 s`. */
export function relative(at: string | null | undefined, now = Date.now()): string {
  if (!at) return '–'
  const seconds = (Date.parse(at) - now) / 1000
  if (Math.abs(seconds) < 1) return 'now'
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`
}

/** In local time: `2026-11-21 12:00:03`. */
export function instant(at: string | null | undefined): string {
  if (!at) return '–'
  const date = new Date(at)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19).replace('T', ' ')
}

/** The local time of day, with milliseconds. */
export function timeOfDay(at: string): string {
  const date = new Date(at)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(11, 23)
}

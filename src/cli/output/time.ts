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

/** What was, in its largest unit: `3 m ago`; what will be, as near as one waits for it: `in 1 m 20 s`. */
export function relative(at: string | null | undefined, now = Date.now()): string {
  if (!at) return '–'
  const seconds = (Date.parse(at) - now) / 1000
  if (Math.abs(seconds) < 1) return 'now'
  return seconds > 0 ? `in ${duration(seconds)}` : `${age(-seconds)} ago`
}

function age(seconds: number): string {
  return seconds < 60 ? duration(seconds) : duration(seconds).split(' ', 2).join(' ')
}

/** In local time, with its zone: `2026-11-21 12:00:03+01:00`. */
export function instant(at: string | null | undefined): string {
  if (!at) return '–'
  return `${localText(at).slice(0, 19).replace('T', ' ')}${zone(at)}`
}

/** The local time of day, with milliseconds and its zone: `12:00:03.250Z`. */
export function timeOfDay(at: string): string {
  return `${localText(at).slice(11, 23)}${zone(at)}`
}

function localText(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString()
}

/** `+01:00`; `Z` where it is that of UTC. */
function zone(at: string): string {
  const minutes = -new Date(at).getTimezoneOffset()
  if (minutes === 0) return 'Z'
  const text = (value: number) => String(value).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${text(Math.floor(Math.abs(minutes) / 60))}:${text(Math.abs(minutes) % 60)}`
}

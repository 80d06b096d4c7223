/** Keeps a number and its unit on one line. */
const SPACE = '\u00a0'

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const

/** To one unit, for where there is little room: `0.3 s`, `16 s`, `12 m`, `2 h`, `3 d`. Rounded down above ten seconds. */
export function shortDuration(seconds: number): string {
  if (seconds < 10) return tenths(seconds)
  const [size, unit] = UNITS.find(([each]) => seconds >= each)!
  return `${Math.floor(seconds / size)}${SPACE}${unit}`
}

/** To two units: `3.4 s`, `1 m 5 s`, `2 h 14 m`, `3 d 4 h`. What is less than the second unit is left out. */
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

/** What is left until something happens: `0:06`, `12:05`, `2:14:07`, `3 d 4 h`. `0:00` once it is due. */
export function countdown(seconds: number): string {
  const left = Math.max(0, Math.ceil(seconds))
  if (left >= 86_400) return duration(left)
  const [hours, minutes, rest] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60]
  const clock = `${minutes}:${String(rest).padStart(2, '0')}`
  return hours === 0 ? clock : `${hours}:${clock.padStart(5, '0')}`
}

/** Never `10.0 s`, which is `9.9 s` or `10 s`; and what took a while is never nothing. */
function tenths(seconds: number): string {
  if (seconds <= 0) return `0${SPACE}s`
  if (seconds < 0.05) return `<${SPACE}0.1${SPACE}s`
  return `${Math.min(9.9, Math.round(seconds * 10) / 10)}${SPACE}s`
}

/** Between groups of three digits: a narrow space that does not break. */
const THIN_SPACE = '\u202f'
const SPACE = '\u00a0'

/** Whole numbers: `7`, `1 204`, `21 102`. */
export function count(value: number): string {
  const digits = String(Math.abs(Math.trunc(value)))
  const groups = digits.replaceAll(/\B(?=(?:\d{3})+$)/g, THIN_SPACE)
  return value <= -1 ? `\u2212${groups}` : groups
}

/** `1 attempt`, `1 204 attempts`. `plural` where an s does not do. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)}${SPACE}${value === 1 ? noun : plural}`
}

/** Units of 1000: `312 B`, `8.1 kB`, `66 kB`, `7.9 MB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${Math.trunc(value)}${SPACE}B`
  const units = ['kB', 'MB', 'GB', 'TB', 'PB']
  let size = value / 1000
  let unit = 0
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000
    unit++
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)}${SPACE}${units[unit]}`
}

/** `0 %`, `71 %`; never `0 %` of something nor `100 %` of less than all. */
export function percentage(part: number, whole: number): string {
  if (whole === 0 || part === 0) return `0${SPACE}%`
  const rounded = Math.round((part / whole) * 100)
  const honest = part < whole ? Math.min(99, Math.max(1, rounded)) : rounded
  return `${honest}${SPACE}%`
}

import { EXIT_CODE_MAX, EXIT_CODE_MIN } from '../../limits.ts'

/** An exit code, or a range of them with both ends: `64-78`. */
export type ExitCodes = number | string

export const EXIT_CODES_WANTED = 'an exit code, or a range of them like 64-78'

const WRITTEN = /^\s*(-?\d{1,10})\s*(?:-\s*(-?\d{1,10}))?\s*$/

/**
 * Parses an exit code or a range into the stored form: a whole number or text such as `64-78`; undefined for anything
 * else.
 */
export function parseExitCodes(written: unknown): ExitCodes | undefined {
  const range = boundsOf(written)
  if (!range || !range.every(isExitCode) || range[0] > range[1]) return undefined
  return range[0] === range[1] ? range[0] : range.join('-')
}

export function exitCodesInclude(listed: readonly ExitCodes[], exitCode: number): boolean {
  return listed.some((codes) => {
    if (typeof codes === 'number') return codes === exitCode
    const range = boundsOf(codes)
    return range !== undefined && range[0] <= exitCode && exitCode <= range[1]
  })
}

function boundsOf(written: unknown): [number, number] | undefined {
  if (typeof written === 'number') return [written, written]
  const match = typeof written === 'string' ? WRITTEN.exec(written) : null
  if (!match) return undefined
  const first = Number(match[1])
  return [first, match[2] === undefined ? first : Number(match[2])]
}

function isExitCode(code: number): boolean {
  return Number.isInteger(code) && code >= EXIT_CODE_MIN && code <= EXIT_CODE_MAX
}

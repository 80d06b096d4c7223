/**
 * Names are shown in terminals, logs and tables, one after the other: characters that move the cursor, begin escape
 * sequences, break lines or turn the direction of writing have no place in them.
 */
const CONTROLS = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

export const PLAIN_TEXT = 'must not contain control characters'

export function isPlainText(text: string): boolean {
  return !CONTROLS.test(text)
}

/** What somebody else says, as one line of at most `max` characters; null if it says nothing. */
export function toPlainLine(value: unknown, max: number): string | null {
  if (typeof value !== 'string') return null
  const line = value
    .slice(0, 4 * max)
    .replaceAll(RUNS_OF_CONTROLS, ' ')
    .trim()
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line.toWellFormed() || null
}

const RUNS_OF_CONTROLS = new RegExp(`(?:${CONTROLS.source}|\\s)+`, 'gu')

/** Checks of text and times. PostgreSQL's text and JSON hold any Unicode text except NUL and unpaired surrogates. */

export const STORABLE_TEXT = 'must not contain NUL or half a surrogate pair'

/** The same for a schema with further checks: text that cannot be stored reports this error only. */
export const UNSTORABLE = { error: STORABLE_TEXT, abort: true }

export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Replaces characters that cannot be stored by U+FFFD. */
export function toStorableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** PostgreSQL's calendar has no year 0, and RFC 3339 writes years with four digits. */
export const STORABLE_MOMENT = 'must be a point in time in the years 1 to 9999'

export function isStorableMoment(time: Date): boolean {
  const year = time.getUTCFullYear()
  return year >= 1 && year <= 9_999
}

/**
 * Characters that are refused in names. Terminals, logs and tables show several names in a row, so a name must not move
 * the cursor, begin an escape sequence, break the line or change the writing direction.
 */
const CONTROLS = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

export const PLAIN_TEXT = 'must not contain control characters'

export function isPlainText(text: string): boolean {
  return !CONTROLS.test(text)
}

/** Turns foreign text into one line of at most `max` characters; null if it is empty. */
export function toPlainLine(value: unknown, max: number): string | null {
  if (typeof value !== 'string') return null
  const line = value
    .slice(0, 4 * max)
    .replaceAll(RUNS_OF_CONTROLS, ' ')
    .trim()
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line.toWellFormed() || null
}

const RUNS_OF_CONTROLS = new RegExp(`(?:${CONTROLS.source}|\\s)+`, 'gu')

/**
 * Names are shown in terminals, logs and tables, one after the other: characters that move the cursor, begin escape
 * sequences, break lines or turn the direction of writing have no place in them.
 */
const CONTROLS = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

export const PLAIN_TEXT = 'must not contain control characters'

export function isPlainText(text: string): boolean {
  return !CONTROLS.test(text)
}

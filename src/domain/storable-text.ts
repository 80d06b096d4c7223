/** PostgreSQL's text and JSON hold any Unicode text except NUL and unpaired surrogates. */

export const STORABLE_TEXT = 'must not contain NUL or half a surrogate pair'

/** The same for a schema that checks further: what cannot be stored has this one fault. */
export const UNSTORABLE = { error: STORABLE_TEXT, abort: true }

export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Replaces what cannot be stored by U+FFFD. */
export function toStorableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

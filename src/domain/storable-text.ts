/** PostgreSQL's text and JSON hold every Unicode text but NUL and half a surrogate pair. */

export const STORABLE_TEXT = 'must not contain NUL or half a surrogate pair'

export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** What cannot be held is replaced by U+FFFD. */
export function toStorableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

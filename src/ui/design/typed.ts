/** What is in a text field of a form. */
export function typed(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name)
  return typeof value === 'string' ? value.trim() : ''
}

/** The same, and null where nothing is typed. */
export function typedOrNull(form: HTMLFormElement, name: string): string | null {
  return typed(form, name) || null
}

/** A number, or null where nothing is typed; what is none stays the text that it is, for the server to say so. */
export function typedNumber(form: HTMLFormElement, name: string): number | null {
  const text = typed(form, name)
  const number = Number(text)
  return text === '' ? null : Number.isNaN(number) ? (text as unknown as number) : number
}

/** What is in a field of day and time, in the browser's zone; null where there is nothing. */
export function typedMoment(form: HTMLFormElement, name: string): string | null {
  const at = Date.parse(typed(form, name))
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

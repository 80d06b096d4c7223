const TEXT_LENGTH_MAX = 200

/** Undefined where it does not understand. */
export type Reader = (value: unknown) => string | number | undefined

export const text = (value: unknown): string | undefined => {
  const given = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  return typeof given === 'string' && given !== '' && given.length <= TEXT_LENGTH_MAX ? given : undefined
}
/** A moment as the server writes it, or a shorter form of that: `2026-11-23`, `2026-11-23T14:00Z`. */
export const moment: Reader = (value) => {
  const given = text(value)
  const at = given !== undefined && /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(given) ? Date.parse(given) : NaN
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}
export const uuid: Reader = (value) =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text(value) ?? '') ? text(value) : undefined
/** From 1. */
export const wholeNumber: Reader = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
export const oneOf =
  (table: object): Reader =>
  (value) =>
    typeof value === 'string' && Object.hasOwn(table, value) ? value : undefined

/** What of an address is understood; what is not is left out, and named. */
export function readSearch<Search extends object>(
  readers: Readonly<Record<string, Reader>>,
  given: Record<string, unknown>,
): Search {
  // Named all, also those that are not understood: the router keeps what it was given of those that are not.
  const read = Object.fromEntries<ReturnType<Reader>>(Object.keys(readers).map((name) => [name, undefined]))
  // The router writes into the address what was understood, and reads that again.
  const before: unknown[] = Array.isArray(given['dropped']) ? given['dropped'].slice(0, 10) : []
  const dropped = before.filter((name) => typeof name === 'string').map((name) => name.slice(0, 40))
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name === 'dropped') continue
    const understood = Object.hasOwn(readers, name) ? readers[name]!(value) : undefined
    if (understood === undefined) dropped.push(name.slice(0, 40))
    read[name] = understood
  }
  return { ...read, ...(dropped.length > 0 && { dropped }) } as Search
}

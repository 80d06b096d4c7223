const TEXT_LENGTH_MAX = 200

/** Undefined where it does not understand. */
export type Reader = (value: unknown) => string | undefined

export const text: Reader = (value) => {
  const given = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  return typeof given === 'string' && given !== '' && given.length <= TEXT_LENGTH_MAX ? given : undefined
}
export const oneOf =
  (table: object): Reader =>
  (value) =>
    typeof value === 'string' && Object.hasOwn(table, value) ? value : undefined

/** What of an address is understood; what is not is left out, and named. */
export function readSearch<Search extends object>(
  readers: Readonly<Record<string, Reader>>,
  given: Record<string, unknown>,
): Search {
  // Named all: the router keeps what it was given of those that are not.
  const read = Object.fromEntries<string | undefined>(Object.keys(readers).map((name) => [name, undefined]))
  // The router writes into the address what was understood, and reads that again.
  const before: unknown[] = Array.isArray(given['dropped']) ? given['dropped'].slice(0, 10) : []
  const dropped = before.filter((name) => typeof name === 'string').map((name) => name.slice(0, 40))
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name === 'dropped') continue
    const understood = Object.hasOwn(readers, name) ? readers[name]!(value) : undefined
    if (understood === undefined) dropped.push(name.slice(0, 40))
    else read[name] = understood
  }
  return { ...read, ...(dropped.length > 0 && { dropped }) } as Search
}

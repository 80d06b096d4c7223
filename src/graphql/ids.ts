import { encodeGlobalID } from '@pothos/plugin-relay'

/** Values that identify an object within its type; null is written as an empty text. */
type NodeKey = readonly (string | number | null)[]

/** Builds the part of a global id after the type, from several values. Only the last value may contain a colon. */
export function nodeKey(key: NodeKey): string {
  return key.join(':')
}

/** Reads the first value of such a part, and the rest. */
export function keyParts(id: string): [first: string, rest: string] {
  const colon = id.indexOf(':')
  return colon === -1 ? [id, ''] : [id.slice(0, colon), id.slice(colon + 1)]
}

/** Reads a key that consists of a UUID and a number; undefined if the id is not of this form. */
export function numberedKey(id: string): { of: string; number: number } | undefined {
  const [of, number] = keyParts(id)
  return isUuid(of) && /^\d{1,9}$/.test(number) ? { of: of.toLowerCase(), number: Number(number) } : undefined
}

/** Puts rows in the order of these ids; undefined for each id without a row. */
export function inOrderOf<Row>(
  ids: readonly string[],
  rows: readonly Row[],
  idOf: (row: Row) => string,
): (Row | undefined)[] {
  const found = new Map(rows.map((row) => [idOf(row), row]))
  return ids.map((id) => found.get(id))
}

export function globalId(typeName: string, key: NodeKey): string {
  return encodeGlobalID(typeName, nodeKey(key))
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Matches no row. Replaces client ids that are not UUIDs, which PostgreSQL would refuse to compare. */
export const NO_UUID = '00000000-0000-0000-0000-000000000000'

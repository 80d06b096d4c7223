import { encodeGlobalID } from '@pothos/plugin-relay'

/**
 * Options of the field `id` of a type that is not a node: a stable, unique id, so that caches store the object once.
 * `node` does not accept it.
 */
export function stableId<Row>(typeName: string, key: (row: Row) => readonly (string | number | null)[]) {
  return {
    description: 'Id that is unique across all types, for caches.',
    resolve: (row: Row) => globalId(typeName, key(row)),
  }
}

export function globalId(typeName: string, key: readonly (string | number | null)[]): string {
  return encodeGlobalID(typeName, key.join(':'))
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Matches no row. Replaces client ids that are not UUIDs, which PostgreSQL would refuse to compare. */
export const NO_UUID = '00000000-0000-0000-0000-000000000000'

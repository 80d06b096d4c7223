import { encodeGlobalID } from '@pothos/plugin-relay'

/**
 * Field `id` of a type that is no node: the same for the same thing wherever it appears, and no other thing's, so that
 * caches keep it once. `node` does not know it.
 */
export function stableId<Row>(typeName: string, key: (row: Row) => readonly (string | number | null)[]) {
  return {
    description: 'Its id among everything that has one, for caches.',
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

/** Matches no row. Stands in for client ids that are not UUIDs, which PostgreSQL would refuse to compare. */
export const NO_UUID = '00000000-0000-0000-0000-000000000000'

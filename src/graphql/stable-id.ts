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

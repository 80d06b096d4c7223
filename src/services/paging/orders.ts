import type { OrderColumn } from './keyset-cursor.ts'

/** For tables whose names are unique. */
export const BY_NAME: readonly OrderColumn[] = [{ column: 'name', direction: 'asc', type: 'text' }]

/** The id makes the order total. Long tables have an index on (created_at, id). */
export const NEWEST_FIRST: readonly OrderColumn[] = [
  { column: 'createdAt', direction: 'desc', type: 'date' },
  { column: 'id', direction: 'desc', type: 'uuid' },
]

/** Several agents may have the same name. */
export const AGENTS_BY_NAME: readonly OrderColumn[] = [
  { column: 'name', direction: 'asc', type: 'text' },
  { column: 'id', direction: 'asc', type: 'uuid' },
]

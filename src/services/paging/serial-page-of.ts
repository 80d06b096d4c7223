import { totals, type Page } from './keyset.ts'
import { serialCursor } from './serial-cursor.ts'

/** The page that these rows, of which there may be one more than its size, are in the order of their serial ids. */
export function serialPageOf<Row extends { id: string }>(
  rows: readonly Row[],
  { size, after, count }: { size: number; after: string | null | undefined; count: () => Promise<number> },
): Page<Row> {
  const edges = rows.slice(0, size).map((node) => ({ cursor: serialCursor(node.id), node }))
  return {
    edges,
    pageInfo: {
      hasNextPage: rows.length > size,
      hasPreviousPage: after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    ...totals(count),
  }
}

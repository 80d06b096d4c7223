import { PAGE_SIZE_DEFAULT } from '../../domain/limits.ts'
import type { PageLoader } from '../page-loader.ts'
import { totals, type Page } from '../../services/paging/keyset.ts'
import { invalidCursor, pageSize } from '../../services/paging/page-arguments.ts'

/** Rows of one entity in the order of their serial ids, oldest first, forward only. */
export async function serialPage<Row extends { id: string }>(options: {
  id: string
  args: { first?: number | null; after?: string | null }
  loader: PageLoader<Row>
  count: () => Promise<number>
}): Promise<Page<Row>> {
  const { id, args, loader, count } = options
  const { size } = pageSize({ first: args.first ?? PAGE_SIZE_DEFAULT })
  const rows = await loader.load({ id, after: parseSerialCursor(args.after), limit: size + 1 })
  const edges = rows.slice(0, size).map((node) => ({ cursor: serialCursor(node.id), node }))
  return {
    edges,
    pageInfo: {
      hasNextPage: rows.length > size,
      hasPreviousPage: args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    ...totals(count),
  }
}

export function serialCursor(id: string): string {
  return Buffer.from(`n:${id}`).toString('base64url')
}

/** The decimal id; '0' without a cursor. @throws RepriseError */
export function parseSerialCursor(cursor: string | null | undefined, name: 'after' | 'before' = 'after'): string {
  if (cursor == null) return '0'
  const match = /^n:(\d{1,18})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return match[1]!
}

import { z } from '@hono/zod-openapi'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../domain/limits.ts'
import type { Page } from '../../services/paging/keyset.ts'

export const PAGE_PARAMETERS = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(PAGE_SIZE_MAX)
    .default(PAGE_SIZE_DEFAULT)
    .openapi({ description: 'Maximum number of items.', type: 'integer' }),
  cursor: z
    .string()
    .optional()
    .openapi({ description: '`next_cursor` of the previous page. Stays valid while items come and go.' }),
}

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().openapi({ description: 'For `cursor`; null on the last page.' }),
  })
}

export function toPage<Row, Item>({ edges, pageInfo }: Page<Row>, toItem: (row: Row) => Item) {
  return {
    items: edges.map(({ node }) => toItem(node)),
    next_cursor: pageInfo.hasNextPage ? pageInfo.endCursor : null,
  }
}

/** The header `Link` (RFC 8288) to the next page, if there is one. */
export function nextLink(url: string, nextCursor: string | null): Record<string, string> {
  if (nextCursor === null) return {}
  const next = new URL(url)
  next.searchParams.set('cursor', nextCursor)
  return { Link: `<${next.pathname}${next.search}>; rel="next"` }
}

import type { PageLoader } from '../page-loader.ts'
import { assemblePage, type Page } from '../../services/paging/keyset.ts'
import { decodeKeyset, encodeKeyset, type OrderColumn } from '../../services/paging/keyset-cursor.ts'
import { invalidCursor, pageSize } from '../../services/paging/page-arguments.ts'

/** The values of the order's columns at the place after which a page begins; null for the first page. */
export type Place = (string | number | Date)[] | null

/** The place of a request to a `PageLoader`, whose `after` is text. */
export function placeOf(order: readonly OrderColumn[], after: string): Place {
  return after === '' ? null : decodeKeyset(order, after)!
}

/**
 * A page of what belongs to one object, forward only: the rows of all objects of an answer are read together, and then
 * what their nodes show. Nodes that have gone meanwhile are left out.
 */
export async function nestedPage<Row extends { id: string }, Node extends object>(options: {
  id: string
  args: { first?: number | null; after?: string | null }
  order: readonly OrderColumn[]
  loader: PageLoader<Row>
  nodes: (ids: string[]) => Promise<(Node | null)[]>
  count: () => Promise<number>
  countMax?: number
}): Promise<Page<Node>> {
  const { id, args, order, loader, nodes, count, countMax } = options
  const after = args.after ?? ''
  if (after !== '' && !decodeKeyset(order, after)) throw invalidCursor('after')
  const { size } = pageSize({ first: args.first })
  const rows = await loader.load({ id, after, limit: size + 1 })
  const page = assemblePage({ args, rows, cursorOf: (row) => encodeKeyset(order, row), count, countMax })
  const found = await nodes(page.edges.map(({ node }) => node.id))
  const edges = page.edges.flatMap(({ cursor }, index) => {
    const node = found[index]
    return node ? [{ cursor, node }] : []
  })
  return { ...page, edges }
}

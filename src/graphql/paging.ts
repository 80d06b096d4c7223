import type { InterfaceRef, ObjectRef } from '@pothos/core'
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import { PAGE_SIZE_DEFAULT } from '../domain/limits.ts'
import {
  assemblePage,
  decodeKeyset,
  encodeKeyset,
  invalidCursor,
  type OrderColumn,
  type Page,
  type PageArguments,
  pageSize,
  parseSerialCursor,
  serialCursor,
} from '../services/paging.ts'
import { builder, TOTAL_COUNT, TOTAL_COUNT_IS_EXACT } from './builder.ts'
import type { GraphQLContext } from './context.ts'
import { SEARCH_COST } from './limits/limits.ts'
import type { PageLoader } from './loaders/loader-kinds.ts'

type Types = typeof builder.$inferSchemaTypes
type FieldBuilder = Parameters<Parameters<typeof builder.queryField>[1]>[0]

/**
 * Declares the interface that all connections over one type of node implement, and that of their edges, so that clients
 * read them with one fragment.
 */
export function pageInterfaces<Row>(of: string, node: ObjectRef<Types, Row>) {
  const edge = builder.interfaceRef<{ cursor: string; node: Row }>(`${of}PageEdge`).implement({
    description: `One node of any connection whose nodes have the type \`${of}\`.`,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: 'Cursor of this edge: pass it as `after` or `before`.' }),
      node: t.field({ type: node, description: 'The node itself.', resolve: (parent) => parent.node as never }),
    }),
  })
  const page = builder.interfaceRef<Page<Row>>(`${of}Page`).implement({
    description: `A page of any connection whose nodes have the type \`${of}\`.`,
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        description: 'The nodes of the page, each with its cursor.',
        resolve: ({ edges }) => edges,
      }),
      pageInfo: t.field({
        type: builder.pageInfoRef(),
        description: 'Position of this page in the connection.',
        resolve: ({ pageInfo }) => pageInfo,
      }),
      totalCount: t.int({ description: TOTAL_COUNT, resolve: (found) => found.totalCount() }),
      totalCountIsExact: t.boolean({
        description: TOTAL_COUNT_IS_EXACT,
        resolve: (found) => found.totalCountIsExact(),
      }),
    }),
  })
  // Pothos compares the shapes of objects and interfaces; that of a page is too deep for it.
  return { page: page as InterfaceRef<Types, object>, edge: edge as InterfaceRef<Types, object> }
}

/** Returns the arguments `first` and `after`, for connections that are only read forward. */
export function forwardArguments({ arg }: Pick<FieldBuilder, 'arg'>) {
  return {
    first: arg.int({ description: 'Page size, at most 100; 20 by default.' }),
    after: arg.string({ description: 'The cursor after which the page starts.' }),
  }
}

/** Returns the arguments of connections that are read from either end. */
export function bothWaysArguments(t: Pick<FieldBuilder, 'arg'>) {
  return {
    ...forwardArguments(t),
    last: t.arg.int({ description: 'Page size, counted from the end; at most 100.' }),
    before: t.arg.string({ description: 'The cursor before which the page ends.' }),
  }
}

/**
 * Computes the complexity of a connection; it is multiplied by the maximum number of rows of the page. A search costs
 * extra.
 */
export function pageComplexity({ first, last, filter }: PageArguments & { filter?: object | null }): {
  field: number
  multiplier: number
} {
  return { field: searches(filter) ? SEARCH_COST : 1, multiplier: first ?? last ?? PAGE_SIZE_DEFAULT }
}

const SEARCHING = [
  'search',
  'contains',
  'startsWith',
  'endsWith',
  'label',
  'labels',
  'startedAt',
  'resourceGroup',
  'user',
  'exitCode',
  'failureReason',
  'failed',
]

/** Whether a filter searches texts, or needs more than one lookup in an index. */
function searches(filter: unknown): boolean {
  if (typeof filter !== 'object' || filter === null) return false
  return Object.entries(filter).some(([key, value]) => (SEARCHING.includes(key) && value != null) || searches(value))
}

/**
 * Builds the query for the nodes of a connection, with the columns of its order, to be spread into `findMany`. The type
 * is just `object`, so that rows have the type of the whole model, of which Pothos reads only the selected columns.
 */
export function edgeQuery(options: {
  context: GraphQLContext
  info: GraphQLResolveInfo
  typeName: string
  order: readonly OrderColumn[]
}): object {
  const { context, info, typeName, order } = options
  const select = Object.fromEntries(order.map(({ column }) => [column, true] as const))
  return queryFromInfo({ context, info, typeName, path: ['edges', 'node'], select })
}

/** Reads rows of one entity in the order of their serial ids, oldest first, from either end. */
export async function serialPage<Row extends { id: string }>(options: {
  id: string
  args: PageArguments
  loader: PageLoader<Row>
  count: () => Promise<number>
}): Promise<Page<Row>> {
  const { id, args, loader, count } = options
  const { size, backward } = pageSize(args)
  const before = args.before == null ? null : parseSerialCursor(args.before, 'before')
  const rows = await loader.load({ id, after: parseSerialCursor(args.after), before, backward, limit: size + 1 })
  return assemblePage({ args, rows, cursorOf: (row) => serialCursor(row.id), count })
}

/**
 * Reads a page of the rows that belong to one object, forward only. One statement reads the ids for all objects of an
 * answer, a second one the nodes. Nodes that were deleted meanwhile are left out.
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

/**
 * Computes the range of attempts to read for a page of a chain: the page and one more. Attempts are numbered 1 to
 * `attempts` without gaps, so a page from the end can be read like a page from the beginning.
 */
export function attemptWindow(
  args: PageArguments,
  attempts: number,
): { after: number; limit: number; backward: boolean } {
  const { size, backward } = pageSize(args)
  const after = Math.min(Number(parseSerialCursor(args.after, 'after')), attempts)
  const before = args.before == null ? attempts + 1 : Number(parseSerialCursor(args.before, 'before'))
  const width = Math.max(0, Math.min(before, attempts + 1) - 1 - after)
  const limit = Math.min(width, size + 1)
  return { after: backward ? after + width - limit : after, limit, backward }
}

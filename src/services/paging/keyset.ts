import { decodeKeyset, encodeKeyset, type OrderColumn } from './keyset-cursor.ts'
import { invalidCursor, pageSize, type PageArguments } from './page-arguments.ts'

export interface Page<Row> {
  edges: { cursor: string; node: Row }[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  totalCount: () => Promise<number>
  /** Whether there are no more than `totalCount`. */
  totalCountIsExact: () => Promise<boolean>
}

/** Spread into Prisma's `findMany`. */
export interface KeysetQuery {
  where: object
  orderBy: Record<string, 'asc' | 'desc'>[]
  take: number
}

/**
 * Keyset pagination: a page starts after a row rather than at an offset, so rows that are added or removed elsewhere do
 * not shift it. The last column of the order is unique, and each row contains all columns of the order.
 */
export async function keysetPage<Row extends object>(options: {
  args: PageArguments
  order: readonly OrderColumn[]
  find: (query: KeysetQuery) => Promise<Row[]>
  count: () => Promise<number>
  countMax?: number
}): Promise<Page<Row>> {
  const { args, order, find, count, countMax } = options
  const { size, backward } = pageSize(args)
  const bounds = [bound(order, 'after', args.after), bound(order, 'before', args.before)].filter(
    (where) => where !== null,
  )
  // One more row than the page shows whether there is another page.
  const rows = await find({ where: { AND: bounds }, orderBy: orderBy(order, backward), take: size + 1 })
  return assemblePage({ args, rows, cursorOf: (node) => encodeKeyset(order, node), count, countMax })
}

/**
 * `rows` has one more row than the page if there are more, and starts at the end for a backward page. A count beyond
 * `countMax` says no more than that.
 */
export function assemblePage<Row extends object>(options: {
  args: PageArguments
  rows: readonly Row[]
  cursorOf: (row: Row) => string
  count: () => Promise<number>
  countMax?: number | undefined
}): Page<Row> {
  const { args, rows, cursorOf, count, countMax } = options
  const { size, backward } = pageSize(args)
  const more = rows.length > size
  const page = rows.slice(0, size)
  if (backward) page.reverse()
  const edges = page.map((node) => ({ cursor: cursorOf(node), node }))
  return {
    edges,
    pageInfo: {
      hasNextPage: backward ? args.before != null : more,
      hasPreviousPage: backward ? more : args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    ...totals(count, countMax),
  }
}

/** Counted once, and only if somebody asks. */
export function totals(
  count: () => Promise<number>,
  countMax = Infinity,
): Pick<Page<object>, 'totalCount' | 'totalCountIsExact'> {
  let counted: Promise<number> | undefined
  const rows = () => (counted ??= count())
  return {
    totalCount: async () => Math.min(await rows(), countMax),
    totalCountIsExact: async () => (await rows()) <= countMax,
  }
}

function orderBy(order: readonly OrderColumn[], backward: boolean): KeysetQuery['orderBy'] {
  return order.map(({ column, direction }) => ({ [column]: backward ? opposite(direction) : direction }))
}

/**
 * (a, b, id) beyond (x, y, z), spelt out for Prisma. The first column's own bound is implied by the rest, but
 * only it lets PostgreSQL start its index scan at the cursor.
 */
function bound(
  order: readonly OrderColumn[],
  name: 'after' | 'before',
  cursor: string | null | undefined,
): object | null {
  if (cursor == null) return null
  const values = decodeKeyset(order, cursor)
  if (!values) throw invalidCursor(name)
  const beyond = order.map(({ direction }) => ((direction === 'asc') === (name === 'after') ? 'gt' : 'lt'))
  const branches = order.map(({ column }, last) => ({
    ...Object.fromEntries(order.slice(0, last).map((before, index) => [before.column, values[index]])),
    [column]: { [beyond[last]!]: values[last] },
  }))
  return { [order[0]!.column]: { [`${beyond[0]!}e`]: values[0] }, OR: branches }
}

function opposite(direction: 'asc' | 'desc'): 'asc' | 'desc' {
  return direction === 'asc' ? 'desc' : 'asc'
}

import type { RepriseError } from '../domain/errors.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../domain/limits.ts'
import { argumentError } from './input/parse-input.ts'
import { isStorableMoment } from '../domain/storable-text.ts'

export interface PageArguments {
  first?: number | null
  after?: string | null
  last?: number | null
  before?: string | null
}

interface PageSize {
  size: number
  /** Whether the page is read from the end, as `last` requests. */
  backward: boolean
}

/**
 * Determines the size of a page.
 * @throws RepriseError that names the limit
 */
export function pageSize({ first, last, before }: PageArguments): PageSize {
  if (first != null && last != null) throw argumentError('last', 'Give `first` or `last`, not both.')
  const backward = last != null || (first == null && before != null)
  const name = backward ? 'last' : 'first'
  const size = (backward ? last : first) ?? PAGE_SIZE_DEFAULT
  if (size < 0) throw argumentError(name, `\`${name}\` is ${size}, but a page cannot have less than 0 items.`)
  if (size > PAGE_SIZE_MAX)
    throw argumentError(name, `\`${name}\` is ${size}, but a page has at most ${PAGE_SIZE_MAX} items.`)
  return { size, backward }
}

export function invalidCursor(name: 'after' | 'before'): RepriseError {
  return argumentError(name, `\`${name}\` is not a cursor of this connection in this order.`)
}

export interface OrderColumn {
  column: string
  direction: 'asc' | 'desc'
  type: 'text' | 'uuid' | 'number' | 'date'
  /** Rows without a value come last, in both directions. */
  nullable?: boolean
}

type Value = string | number | Date | null

/** Encodes a cursor that is opaque to clients: the order it belongs to, and the row's values in that order. */
export function encodeKeyset(order: readonly OrderColumn[], row: object): string {
  const values = order.map(({ column }) => (row as Record<string, Value>)[column])
  return Buffer.from(JSON.stringify([signature(order), ...values])).toString('base64url')
}

/** Decodes a cursor; undefined if the text is not one of this order. */
export function decodeKeyset(order: readonly OrderColumn[], cursor: string): Value[] | undefined {
  const parsed = parse(cursor)
  if (!Array.isArray(parsed) || parsed.length !== order.length + 1 || parsed[0] !== signature(order)) return undefined
  const values = order.map((column, index) => read(column, parsed[index + 1]))
  return values.every((value) => value !== undefined) ? values : undefined
}

const CURSOR_LENGTH_MAX = 4_096
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export interface Page<Row> {
  edges: { cursor: string; node: Row }[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  totalCount: () => Promise<number>
  /** Whether `totalCount` is exact; otherwise there are more. */
  totalCountIsExact: () => Promise<boolean>
}

type Direction = OrderColumn['direction']

/** Arguments for Prisma's `findMany`. */
interface KeysetQuery {
  where: object
  orderBy: Record<string, Direction | { sort: Direction; nulls: 'first' | 'last' }>[]
  take: number
}

/**
 * Reads a page by keyset pagination: the page starts after a row rather than at an offset, so rows that are added or
 * removed elsewhere do not shift it. The last column of the order is unique, and each row contains all columns of the
 * order.
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
  // One additional row shows whether there is another page.
  const rows = await find({ where: { AND: bounds }, orderBy: orderBy(order, backward), take: size + 1 })
  return assemblePage({ args, rows, cursorOf: (node) => encodeKeyset(order, node), count, countMax })
}

/**
 * Assembles a page. `rows` has one more row than the page if there are more, and starts at the end for a backward page.
 * A count beyond `countMax` only means that there are more.
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

/** Counts once, and only if the total is requested. */
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

/** The order of tables whose names are unique. */
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

export function serialCursor(id: string): string {
  return Buffer.from(`n:${id}`).toString('base64url')
}

/**
 * Parses a cursor to a decimal id; '0' without a cursor.
 * @throws RepriseError
 */
export function parseSerialCursor(cursor: string | null | undefined, name: 'after' | 'before' = 'after'): string {
  if (cursor == null) return '0'
  const match = /^n:(\d{1,18})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return match[1]!
}

/** Builds the page of these rows in the order of their serial ids; there may be one row more than its size. */
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

function signature(order: readonly OrderColumn[]): string {
  return order.map(({ column, direction }) => `${column} ${direction}`).join()
}

function parse(cursor: string): unknown {
  if (cursor.length > CURSOR_LENGTH_MAX) return undefined
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}

function read({ type, nullable }: OrderColumn, value: unknown): Value | undefined {
  if (value === null) return nullable ? null : undefined
  if (type === 'number') return Number.isSafeInteger(value) ? (value as number) : undefined
  if (typeof value !== 'string' || value.includes('\0')) return undefined
  if (type === 'uuid') return UUID.test(value) ? value : undefined
  if (type === 'text') return value
  const date = new Date(value)
  return isStorableMoment(date) ? date : undefined
}

function orderBy(order: readonly OrderColumn[], backward: boolean): KeysetQuery['orderBy'] {
  return order.map(({ column, direction, nullable }) => {
    const sort = backward ? opposite(direction) : direction
    return { [column]: nullable ? { sort, nulls: backward ? 'first' : 'last' } : sort }
  })
}

/**
 * Builds (a, b, id) beyond (x, y, z) for Prisma. The first column's own bound is implied by the rest, but only it lets
 * PostgreSQL start its index scan at the cursor.
 */
function bound(
  order: readonly OrderColumn[],
  name: 'after' | 'before',
  cursor: string | null | undefined,
): object | null {
  if (cursor == null) return null
  const values = decodeKeyset(order, cursor)
  if (!values) throw invalidCursor(name)
  const branches = order.flatMap((column, last) => {
    const further = beyond(column, name, values[last]!)
    const equal: object = Object.fromEntries(
      order.slice(0, last).map((before, index) => [before.column, values[index]]),
    )
    return further === null ? [] : [{ ...equal, ...further }]
  })
  const [first] = order
  if (first!.nullable) return { OR: branches }
  return { [first!.column]: { [`${comparison(first!, name)}e`]: values[0] }, OR: branches }
}

/** The condition that a column's value lies beyond a value; null if none does. */
function beyond(column: OrderColumn, name: 'after' | 'before', value: Value): object | null {
  if (value === null) return name === 'after' ? null : { [column.column]: { not: null } }
  const further = { [column.column]: { [comparison(column, name)]: value } }
  return column.nullable && name === 'after' ? { OR: [further, { [column.column]: null }] } : further
}

function comparison({ direction }: OrderColumn, name: 'after' | 'before'): 'gt' | 'lt' {
  return (direction === 'asc') === (name === 'after') ? 'gt' : 'lt'
}

function opposite(direction: 'asc' | 'desc'): 'asc' | 'desc' {
  return direction === 'asc' ? 'desc' : 'asc'
}

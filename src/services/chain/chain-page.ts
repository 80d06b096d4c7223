import { COUNTED_ROWS_MAX } from '../../domain/limits.ts'
import { readNow } from '../../store/sql/read-now.sql.ts'
import { assemblePage, type Page } from '../paging/keyset.ts'
import { decodeKeyset, encodeKeyset, type OrderColumn } from '../paging/keyset-cursor.ts'
import { invalidCursor, pageSize, type PageArguments } from '../paging/page-arguments.ts'
import type { ServiceContext } from '../service-context.ts'
import {
  countChains,
  listChains,
  type ChainConditions,
  type ChainKey,
  type ChainOrder,
  type ChainPlace,
  type ListedChain,
} from './read-chains.ts'

export interface WantedOrder {
  order: ChainOrder
  direction: 'asc' | 'desc'
}

/** A page of chains, from either end. @throws RepriseError VALIDATION_FAILED */
export async function readChainPage(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  { conditions, wanted, args }: { conditions: ChainConditions; wanted: WantedOrder; args: PageArguments },
): Promise<Page<ListedChain>> {
  const { size, backward } = pageSize(args)
  const after = decodeChain(wanted, 'after', args.after)
  const before = decodeChain(wanted, 'before', args.before)
  const asOfMs = after?.asOfMs ?? before?.asOfMs ?? (await totalsUpTo(context, wanted))
  const rows = await listChains(context, {
    conditions,
    order: wanted.order,
    // A page from the end is read in the opposite direction.
    direction: backward === (wanted.direction === 'asc') ? 'desc' : 'asc',
    asOfMs,
    after: present(backward ? before : after),
    before: present(backward ? after : before),
    limit: size + 1,
  })
  return assemblePage({
    args,
    rows,
    cursorOf: (row) => encodeChain(wanted, row, asOfMs),
    count: () => countChains(context, { conditions, order: wanted.order }),
    countMax: COUNTED_ROWS_MAX,
  })
}

/** The order by total time alone depends on it. */
async function totalsUpTo({ db }: Pick<ServiceContext, 'db'>, { order }: WantedOrder): Promise<number> {
  return order === 'TOTAL_TIME' ? (await readNow(db)).getTime() : 0
}

function present<T>(value: T | null): T[] {
  return value === null ? [] : [value]
}

/** A position in an order, and the moment up to which totals count, so that all pages of one listing agree. */
interface ChainCursor extends ChainPlace {
  asOfMs: number
}

function encodeChain(wanted: WantedOrder, row: ListedChain, asOfMs: number): string {
  const { key, chainId } = row
  return encodeKeyset(columns(wanted), { asOf: asOfMs, [wanted.order]: key, chainId })
}

/** Null without a cursor. @throws RepriseError if the cursor does not belong to this order */
function decodeChain(
  wanted: WantedOrder,
  name: 'after' | 'before',
  cursor: string | null | undefined,
): ChainCursor | null {
  if (cursor == null) return null
  const values = decodeKeyset(columns(wanted), cursor)
  if (!values) throw invalidCursor(name)
  const [asOfMs, key, chainId] = values as [number, ChainKey, string]
  return { asOfMs, key, chainId }
}

const KEY_TYPES: Record<ChainOrder, OrderColumn['type']> = {
  ACTIVITY: 'date',
  ATTEMPTS: 'number',
  TOTAL_TIME: 'number',
  NAME: 'text',
  CREATED_AT: 'date',
  DUE_AT: 'date',
}

function columns({ order, direction }: WantedOrder): OrderColumn[] {
  return [
    { column: 'asOf', direction, type: 'number' },
    { column: order, direction, type: KEY_TYPES[order] },
    { column: 'chainId', direction, type: 'uuid' },
  ]
}

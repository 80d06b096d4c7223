import type { ChainKey, ChainOrder, ChainPlace, ListedChain } from '../../../services/chain/read-chains.ts'
import { builder } from '../../builder.ts'
import { decodeKeyset, encodeKeyset, type OrderColumn } from '../../../services/paging/keyset-cursor.ts'
import { invalidCursor } from '../../../services/paging/page-arguments.ts'
import { OrderDirection } from '../session/session.order.ts'
import { ChainOrderFieldEnum } from './chain.enums.ts'

export const ChainOrderInput = builder.inputType('ChainOrder', {
  description: 'What to order chains by.',
  fields: (t) => ({
    field: t.field({ type: ChainOrderFieldEnum, required: true, description: 'By what.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Which way.' }),
  }),
})

export interface WantedOrder {
  order: ChainOrder
  direction: 'asc' | 'desc'
}

export function wantedOrder(orderBy: typeof ChainOrderInput.$inferInput | null | undefined): WantedOrder {
  if (!orderBy) return { order: 'ACTIVITY', direction: 'desc' }
  return { order: orderBy.field, direction: orderBy.direction === 'DESC' ? 'desc' : 'asc' }
}

/** A position in an order, and the moment up to which totals count, so that all pages of one listing agree. */
export interface ChainCursor extends ChainPlace {
  asOfMs: number
}

export function encodeChain(wanted: WantedOrder, row: ListedChain, asOfMs: number): string {
  const { key, chainId } = row
  return encodeKeyset(columns(wanted), { asOf: asOfMs, [wanted.order]: key, chainId })
}

/** Null without a cursor. @throws RepriseError if the cursor does not belong to this order */
export function decodeChain(
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

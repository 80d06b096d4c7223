import { builder } from '../../builder.ts'
import { ORDER_FIELDS_MAX } from '../../limits/limits.ts'
import type { OrderColumn } from '../../../services/paging/keyset-cursor.ts'
import { argumentError } from '../../../services/input/parse-input.ts'

const SessionOrderField = builder.enumType('SessionOrderField', {
  description: 'By what sessions can be ordered.',
  values: {
    CREATED_AT: { description: 'When it was created.' },
    STATUS_CHANGED_AT: { description: 'Since when it has its status.' },
    NAME: { description: 'By name, byte by byte.' },
    PRIORITY: { description: 'By priority.' },
    ATTEMPT: { description: 'By its place in its chain.' },
  } as const,
})

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which way.',
  values: { ASC: { description: 'Smallest, oldest first.' }, DESC: { description: 'Largest, newest first.' } } as const,
})

export const SessionOrder = builder.inputType('SessionOrder', {
  description: 'One thing to order by.',
  fields: (t) => ({
    field: t.field({ type: SessionOrderField, required: true, description: 'By what.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Which way.' }),
  }),
})

/** Columns that are never null: cursors cannot represent NULL. */
const COLUMNS: Record<typeof SessionOrderField.$inferInput, Pick<OrderColumn, 'column' | 'type'>> = {
  CREATED_AT: { column: 'createdAt', type: 'date' },
  STATUS_CHANGED_AT: { column: 'statusChangedAt', type: 'date' },
  NAME: { column: 'name', type: 'text' },
  PRIORITY: { column: 'priority', type: 'number' },
  ATTEMPT: { column: 'attempt', type: 'number' },
}

const NEWEST_FIRST: (typeof SessionOrder.$inferInput)[] = [{ field: 'CREATED_AT', direction: 'DESC' }]

/** Ends with the id, which makes the order total. The default is the order of sessions_created_at_id_idx. */
export function sessionOrder(orderBy: readonly (typeof SessionOrder.$inferInput)[] | null | undefined): OrderColumn[] {
  const wanted = orderBy?.length ? orderBy : NEWEST_FIRST
  if (wanted.length > ORDER_FIELDS_MAX) throw argumentError('orderBy', `At most ${ORDER_FIELDS_MAX} fields.`)
  const columns = wanted.map(({ field, direction }) => ({
    ...COLUMNS[field],
    direction: direction === 'DESC' ? ('desc' as const) : ('asc' as const),
  }))
  if (new Set(columns.map(({ column }) => column)).size < columns.length) {
    throw argumentError('orderBy', 'Each field at most once.')
  }
  return [...columns, { column: 'id', type: 'uuid', direction: columns.at(-1)!.direction }]
}

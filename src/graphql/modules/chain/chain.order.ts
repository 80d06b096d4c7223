import type { WantedOrder } from '../../../services/chain/chain-page.ts'
import { builder } from '../../builder.ts'
import { OrderDirection } from '../filters.inputs.ts'
import { ChainOrderFieldEnum } from './chain.enums.ts'

export const ChainOrderInput = builder.inputType('ChainOrder', {
  description: 'What to order chains by.',
  fields: (t) => ({
    field: t.field({ type: ChainOrderFieldEnum, required: true, description: 'By what.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Which way.' }),
  }),
})

export function wantedOrder(orderBy: typeof ChainOrderInput.$inferInput | null | undefined): WantedOrder {
  if (!orderBy) return { order: 'ACTIVITY', direction: 'desc' }
  return { order: orderBy.field, direction: orderBy.direction === 'DESC' ? 'desc' : 'asc' }
}

import { NEWEST_FIRST } from '../../../services/paging/orders.ts'
import type { OrderColumn } from '../../../services/paging/keyset-cursor.ts'
import { builder } from '../../builder.ts'
import { OrderDirection } from '../filters.inputs.ts'

const DeploymentOrderField = builder.enumType('DeploymentOrderField', {
  description: 'By what deployments can be ordered.',
  values: {
    CREATED_AT: { description: 'When it was created.' },
    STATUS_CHANGED_AT: { description: 'Since when it has its status.' },
    NAME: { description: 'By name, byte by byte.' },
  } as const,
})

export const DeploymentOrder = builder.inputType('DeploymentOrder', {
  description: 'What to order deployments by.',
  fields: (t) => ({
    field: t.field({ type: DeploymentOrderField, required: true, description: 'By what.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Which way.' }),
  }),
})

const COLUMNS: Record<typeof DeploymentOrderField.$inferInput, Pick<OrderColumn, 'column' | 'type'>> = {
  CREATED_AT: { column: 'createdAt', type: 'date' },
  STATUS_CHANGED_AT: { column: 'statusChangedAt', type: 'date' },
  NAME: { column: 'name', type: 'text' },
}

/** Ends with the id, which makes the order total. */
export function deploymentOrder(
  orderBy: typeof DeploymentOrder.$inferInput | null | undefined,
): readonly OrderColumn[] {
  if (!orderBy) return NEWEST_FIRST
  const direction = orderBy.direction === 'DESC' ? 'desc' : 'asc'
  return [
    { ...COLUMNS[orderBy.field], direction },
    { column: 'id', type: 'uuid', direction },
  ]
}

import { readGroupSlots as read, type GroupSlotRow } from '../../store/sql/resource-group/resource-groups.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { GroupSlotRow }

/** Capacity and use of each resource group, by slot. */
export function readGroupSlots({ db }: Pick<ServiceContext, 'db'>, groups: readonly string[]): Promise<GroupSlotRow[]> {
  return read(db, groups)
}

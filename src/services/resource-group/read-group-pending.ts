import { COUNTED_ROWS_MAX } from '../../domain/limits.ts'
import {
  countGroupPending as count,
  readGroupPending as read,
  type GroupPendingRow,
  type PendingPlace,
} from '../../store/sql/resource-group/read-group-pending.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { GroupPendingRow, PendingPlace }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** A page of the sessions that wait in each group, of those that the viewer sees, in the order of FIFO. */
export function readGroupPending(
  { db, viewer }: Reader,
  page: { groups: readonly string[]; after: PendingPlace | null; limit: number },
): Promise<GroupPendingRow[]> {
  return read(db, { ...page, visibleProjectId: viewer.projectId })
}

/** One more than `COUNTED_ROWS_MAX` where there are more. */
export function countGroupPending({ db, viewer }: Reader, groups: readonly string[]): Promise<Map<string, number>> {
  return count(db, groups, viewer.projectId, COUNTED_ROWS_MAX + 1)
}

import { RepriseError } from '../../domain/errors.ts'
import { RESUBMISSION_SHOWN_SESSIONS_MAX } from '../../domain/limits.ts'
import {
  countRefusals,
  countResubmissionItems as count,
  itemList,
  readResubmissionItems as read,
  readResubmissionProgress,
  type RefusalCount,
  type ResubmissionItemRow,
  type ResubmissionItemStatus,
} from '../../store/sql/resubmission/read-resubmission.sql.ts'
import { countCancelledDependents } from '../../store/sql/resubmission/dependents.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export { itemList }
export type { RefusalCount, ResubmissionItemRow, ResubmissionItemStatus }

/** @throws RepriseError RESUBMISSION_NOT_FOUND */
export async function assertResubmissionVisible({ db, viewer }: ServiceContext, id: string): Promise<void> {
  if (await readResubmissionProgress(db, id, viewer.projectId)) return
  throw new RepriseError('RESUBMISSION_NOT_FOUND', `no resubmission ${id}`)
}

/** One page for each list. The caller has checked that the viewer may see them. */
export function readResubmissionItems(
  { db }: Pick<ServiceContext, 'db'>,
  input: { lists: readonly string[]; after: string; limit: number },
): Promise<ResubmissionItemRow[]> {
  return read(db, input.lists, input.after, input.limit)
}

export function countResubmissionItems(
  { db }: Pick<ServiceContext, 'db'>,
  lists: readonly string[],
): Promise<Map<string, number>> {
  return count(db, lists)
}

/** Why items were refused so far, the most frequent reason first. */
export function readRefusalCounts(
  { db }: Pick<ServiceContext, 'db'>,
  resubmissionIds: readonly string[],
): Promise<RefusalCount[]> {
  return countRefusals(db, resubmissionIds)
}

/** How many sessions are cancelled because chains had failed of which this has sessions, and are not among these. */
export function readCancelledDependents(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  resubmissionId: string,
): Promise<number> {
  return countCancelledDependents(db, resubmissionId, viewer.projectId)
}

export interface ShownResubmission {
  resubmissionId: string
  /** Children; of other actions than resubmission the sessions themselves. */
  sessionIds: string[]
  refused: { sessionId: string; code: string; message: string }[]
}

/** The progress of a resubmission, with its first sessions in the order in which they were named. */
export async function showResubmission(
  { db }: Pick<ServiceContext, 'db'>,
  resubmissionId: string,
): Promise<ShownResubmission> {
  const lists = [itemList(resubmissionId, 'DONE'), itemList(resubmissionId, 'REFUSED')]
  const items = await read(db, lists, '0', RESUBMISSION_SHOWN_SESSIONS_MAX)
  return {
    resubmissionId,
    sessionIds: items.flatMap(({ status, sessionId, childSessionId }) =>
      status === 'DONE' ? [childSessionId ?? sessionId] : [],
    ),
    refused: items.flatMap(({ sessionId, code, message }) =>
      code === null ? [] : [{ sessionId, code, message: message! }],
    ),
  }
}

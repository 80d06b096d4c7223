import { durationsOf, type SessionDurations } from '../../domain/session/durations.ts'
import {
  countSchedulingHistory as count,
  readSchedulingHistory as read,
  readSessionTimes,
  type HistoryRow,
} from '../../store/sql/session/read-scheduling-history.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { HistoryRow, SessionDurations }

/** Oldest first, one page for each entity. The caller has checked that the viewer may see them. */
export function readSchedulingHistory(
  { db }: Pick<ServiceContext, 'db'>,
  input: { entityIds: readonly string[]; after: string; limit: number },
): Promise<HistoryRow[]> {
  return read(db, input.entityIds, input.after, input.limit)
}

export function countSchedulingHistory(
  { db }: Pick<ServiceContext, 'db'>,
  entityIds: readonly string[],
): Promise<Map<string, number>> {
  return count(db, entityIds)
}

/** How long each of these sessions was queued, and so on. The caller has checked that the viewer may see them. */
export async function readDurations(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, SessionDurations>> {
  const rows = await readSessionTimes(db, sessionIds)
  return new Map(rows.map(({ sessionId, steps, now, ...times }) => [sessionId, durationsOf(times, steps, now)]))
}

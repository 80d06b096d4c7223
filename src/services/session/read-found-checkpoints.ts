import {
  readFoundCheckpoints as readRows,
  type FoundCheckpointRow,
} from '../../store/sql/session/read-found-checkpoints.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { FoundCheckpointRow }

/** By session; those that found none are missing. The caller has checked that the viewer may see them. */
export async function readFoundCheckpoints(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, FoundCheckpointRow>> {
  const rows = await readRows(db, sessionIds)
  return new Map(rows.map((row) => [row.sessionId, row]))
}

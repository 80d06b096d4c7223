import type { Queryable } from '../../database.ts'
import type { ChainBound } from '../chain/read-chain-bounds.sql.ts'

/**
 * Deletes what became of runs before the oldest kept chain; those that wait stay.
 * Indexes: schedules(project_id, …), schedule_runs(schedule_id, planned_at).
 */
const SQL = `
WITH old AS MATERIALIZED (
  SELECT r.id FROM schedules s JOIN schedule_runs r ON r.schedule_id = s.id
  WHERE s.project_id = $1 AND r.last_planned_at < $2 AND r.planned_at < $2 AND r.outcome <> 'QUEUED'
  LIMIT $3
)
DELETE FROM schedule_runs r USING old WHERE r.id = old.id`

export async function removeOldScheduleRuns(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(SQL, [projectId, before, limit])).rowCount ?? 0
}

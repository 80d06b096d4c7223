import type { ScheduleRunOutcome } from '../../../domain/schedule/admit-runs.ts'
import type { Queryable } from '../../database.ts'

/** What became of a planned run, or of several in a row that made nothing. */
export interface ScheduleRunRow {
  id: string
  scheduleId: string
  plannedAt: Date
  lastPlannedAt: Date
  count: number
  outcome: ScheduleRunOutcome
  askedBy: string | null
  chainId: string | null
  code: string | null
  reason: string | null
  decidedAt: Date
}

/** Index: schedule_runs(schedule_id, planned_at). */
const SQL = `
SELECT r.id, r.schedule_id AS "scheduleId", r.planned_at AS "plannedAt", r.last_planned_at AS "lastPlannedAt", r.count,
  r.outcome, r.asked_by AS "askedBy", r.chain_id AS "chainId", r.code, r.reason, r.decided_at AS "decidedAt"
FROM unnest($1::uuid[]) AS s(id) CROSS JOIN LATERAL (
  SELECT * FROM schedule_runs WHERE schedule_id = s.id ORDER BY planned_at DESC LIMIT $2) AS r
ORDER BY r.schedule_id, r.planned_at DESC`

/** Of each schedule the newest, newest first. */
export async function readLastRuns(
  db: Queryable,
  scheduleIds: readonly string[],
  limit: number,
): Promise<ScheduleRunRow[]> {
  return (await db.query<ScheduleRunRow>(SQL, [scheduleIds, limit])).rows
}

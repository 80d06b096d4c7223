import type { Queryable } from '../../database.ts'
import { IS_VALID, type NewToken, ROLE, TOKENS } from '../access/tokens.sql.ts'
import { type LockedSchedule, SCHEDULE_COLUMNS } from './schedules.sql.ts'

/** Condition on `schedules s`: a chain of the schedule is still running. Index: chains_of_schedule. */
export const GOES_ON = `EXISTS (SELECT FROM chains c
  WHERE c.schedule_id = s.id AND c.state IN ('LIVE', 'WAITING_RETRY', 'HELD'))`

/** Indexes: schedules_due, schedules_waiting. */
const DUE = `SELECT s.id FROM schedules s WHERE s.paused_at IS NULL AND s.due_at <= reprise_now()`
const READY = `SELECT s.id FROM schedules s WHERE s.paused_at IS NULL AND s.queued > 0 AND NOT ${GOES_ON}`

const OUTLOOK_SQL = `
SELECT EXISTS (${DUE}) OR EXISTS (${READY}) AS any, least(
  (SELECT extract(epoch FROM min(due_at) - reprise_now()) * 1000 FROM schedules WHERE paused_at IS NULL AND due_at IS NOT NULL),
  (SELECT $1::int8 FROM schedules WHERE paused_at IS NULL AND queued > 0 LIMIT 1))::float8 AS "nextInMs"`

export interface ScheduleOutlook {
  /** Whether a run is due, or a queued run may start. */
  any: boolean
  /** Time until a run may be due, without any other change; null if none will. */
  nextInMs: number | null
}

/**
 * Reads whether schedules have work. `waitCheckMs` is the pause before the next check while runs wait for others to
 * end.
 */
export async function readDueSchedules(db: Queryable, waitCheckMs: number): Promise<ScheduleOutlook> {
  return (await db.query<ScheduleOutlook>(OUTLOOK_SQL, [waitCheckMs])).rows[0]!
}

/** A schedule that the transaction has locked, so that no other transaction starts its runs. */
export interface HeldSchedule extends LockedSchedule {
  /** The role of its owner's token in its project; null if the token is no longer valid, or not for this project. */
  ownerRole: NewToken['role'] | null
}

/**
 * Claims schedules with runs to start, longest due first. Those locked by another server are skipped; the conditions on
 * the row are checked again after the lock, so that another server's work in the meantime is seen. A server that dies
 * leaves no lock behind.
 */
const CLAIM_SQL = `
WITH wanted AS (
  (SELECT id FROM (${DUE} ORDER BY s.due_at LIMIT $1) AS due) UNION (${READY} LIMIT $1)
)
SELECT ${SCHEDULE_COLUMNS}, pr.name AS "projectName", reprise_now() AS now, valid.role AS "ownerRole"
FROM schedules s JOIN wanted USING (id) JOIN projects pr ON pr.id = s.project_id
LEFT JOIN LATERAL (SELECT ${ROLE} AS role FROM ${TOKENS}
  WHERE t.id = s.token_id AND ${IS_VALID} AND (t.project_id IS NULL OR t.project_id = s.project_id)) AS valid ON true
WHERE s.paused_at IS NULL AND (s.due_at <= reprise_now() OR s.queued > 0)
ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED`

/** Claims at most `limit` schedules that are due, and at most `limit` schedules with queued runs that may start. */
export async function claimSchedules(tx: Queryable, limit: number): Promise<HeldSchedule[]> {
  return (await tx.query<HeldSchedule>(CLAIM_SQL, [limit])).rows
}

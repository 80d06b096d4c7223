import type { TerminationOptions } from './open-resubmission.sql.ts'
import type { ErrorCode } from '../../../domain/errors.ts'
import type { ResubmissionOverrides } from '../../../domain/resubmission.ts'
import type { SessionAction } from '../../../domain/session/session-spec.ts'
import type { Queryable } from '../../database.ts'
import type { ResubmissionState } from './open-resubmission.sql.ts'

/** A resubmission locked by the transaction: no other transaction can process a batch of it or abort it meanwhile. */
export interface HeldResubmission {
  id: string
  projectId: string | null
  actor: string
  action: SessionAction
  overrides: ResubmissionOverrides
  /** The options of a bulk termination, stored in place of overrides. */
  options: TerminationOptions
  includeSucceeded: boolean
  /** From this position on, sessions are resubmitted because they depend on others; null for none. */
  dependentsFrom: number | null
}

const COLUMNS = `id, project_id AS "projectId", actor, action, overrides, overrides AS options, include_succeeded AS "includeSucceeded",
  dependents_from AS "dependentsFrom"`

/** Claims the running resubmission that has waited longest. Index: resubmissions_running. */
const CLAIM_SQL = `
SELECT ${COLUMNS} FROM resubmissions WHERE state = 'RUNNING'
ORDER BY progressed_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`

export async function claimResubmission(tx: Queryable): Promise<HeldResubmission | undefined> {
  return (await tx.query<HeldResubmission>(CLAIM_SQL)).rows[0]
}

export interface PendingItem {
  position: number
  sessionId: string
}

/** Reads the remaining items, in order. Index: resubmission_items_pending. */
const PENDING_SQL = `
SELECT position, session_id AS "sessionId" FROM resubmission_items
WHERE resubmission_id = $1 AND status = 'PENDING' ORDER BY position LIMIT $2`

export async function readPendingItems(tx: Queryable, resubmissionId: string, limit: number): Promise<PendingItem[]> {
  const { rows } = await tx.query<PendingItem>(PENDING_SQL, [resubmissionId, limit])
  return rows
}

/** The result for one target: refused or done, with the child session if it was resubmitted. */
export interface SettledItem {
  position: number
  /** The target's project; null if the target was not found. */
  projectId: string | null
  childSessionId: string | null
  code: ErrorCode | null
  message: string | null
}

/**
 * Records a batch: items, progress, completion if nothing is left, and an audit entry for each project. Other actions
 * than resubmission have an audit entry for each session.
 */
const SETTLE_SQL = `
WITH input AS (
  SELECT * FROM json_to_recordset($2::json) AS i(
    "position" int, "projectId" uuid, "childSessionId" uuid, "code" text, "message" text)
), items AS (
  UPDATE resubmission_items t SET child_session_id = i."childSessionId", code = i."code", message = i."message",
    status = CASE WHEN i."code" IS NULL THEN 'DONE'::resubmission_item_status ELSE 'REFUSED' END
  FROM input i WHERE t.resubmission_id = $1 AND t.position = i."position"
), counts AS (
  SELECT count(*) - count("code") AS done, count("code") AS refused FROM input
), progress AS (
  UPDATE resubmissions r SET done = r.done + c.done, refused = r.refused + c.refused, progressed_at = reprise_clock(),
    state = CASE WHEN r.done + r.refused + c.done + c.refused = r.total THEN 'COMPLETED'::resubmission_state ELSE r.state END,
    finished_at = CASE WHEN r.done + r.refused + c.done + c.refused = r.total THEN reprise_clock() END
  FROM counts c WHERE r.id = $1
  RETURNING r.actor, r.action, r.state
), audit AS (
  INSERT INTO audit_log (actor, action, project_id, details)
  SELECT p.actor, 'session.resubmitted', i."projectId", jsonb_build_object('resubmissionId', $1::uuid,
    'sessionIds', coalesce(jsonb_agg(i."childSessionId") FILTER (WHERE i."childSessionId" IS NOT NULL), '[]'),
    'refused', count(i."code"))
  FROM progress p, input i WHERE p.action = 'RESUBMIT' GROUP BY p.actor, i."projectId"
)
SELECT state FROM progress`

/** Returns whether the resubmission is complete. */
export async function settleItems(
  tx: Queryable,
  resubmissionId: string,
  items: readonly SettledItem[],
): Promise<boolean> {
  const { rows } = await tx.query<{ state: ResubmissionState }>(SETTLE_SQL, [resubmissionId, JSON.stringify(items)])
  return rows[0]?.state === 'COMPLETED'
}

const POSTPONE_SQL = `UPDATE resubmissions SET progressed_at = reprise_clock() WHERE id = $1 AND state = 'RUNNING'`

/** Moves the resubmission behind the other running ones, so that one whose batches fail does not block the rest. */
export async function postponeResubmission(db: Queryable, resubmissionId: string): Promise<void> {
  await db.query(POSTPONE_SQL, [resubmissionId])
}

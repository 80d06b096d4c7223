import type { SessionStatus } from '../../../domain/session/statuses.ts'
import type { Queryable } from '../../database.ts'
import { insertStatusEvents } from '../event/event-data.sql.ts'
import { ACTOR_COLUMNS, actorValues, type Actor } from '../access/record-audit.sql.ts'

/**
 * Terminates sessions: those that never started are CANCELLED at once with their kernels, those with an agent go
 * TERMINATING. Calling it again on a TERMINATING session changes at most `force`.
 * Locks: sessions in id order, then their kernels in id order.
 */
const SQL = `
WITH claimed AS (
  SELECT id, status FROM sessions WHERE id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR project_id = $2)
  ORDER BY id FOR UPDATE
), moved AS (
  UPDATE sessions s SET
    status = CASE WHEN c.status = 'PENDING' THEN 'CANCELLED'::session_status ELSE 'TERMINATING' END,
    status_changed_at = CASE WHEN c.status = 'TERMINATING' THEN s.status_changed_at ELSE reprise_now() END,
    terminated_at = CASE WHEN c.status = 'PENDING' THEN reprise_now() END,
    tries = 0, next_try_at = NULL, pending_reason = NULL,
    terminated_by = coalesce(s.terminated_by, $3),
    terminate_force = s.terminate_force OR $4,
    status_reason = coalesce(s.status_reason, $5),
    status_data = coalesce(s.status_data,
      jsonb_build_object('error', jsonb_build_object('name', $6::text, 'message', $5::text)))
  FROM claimed c
  WHERE s.id = c.id AND c.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
  RETURNING s.id, s.chain_id, s.project_id, c.status AS "from", s.status AS "to", s.status_reason
), locked AS (
  SELECT k.id FROM kernels k JOIN moved m ON m.id = k.session_id AND m."to" = 'CANCELLED'
  WHERE k.status = 'PENDING' ORDER BY k.id FOR NO KEY UPDATE OF k
), kernels AS (
  UPDATE kernels k SET status = 'CANCELLED', status_changed_at = reprise_now(), terminated_at = reprise_now()
  FROM locked WHERE k.id = locked.id
), events AS (
  ${insertStatusEvents('moved WHERE "from" <> "to"', { reason: 'status_reason' })}
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'SESSION', id, 'terminate-session', "from"::text, "to"::text, 'SUCCESS', status_reason
  FROM moved WHERE "from" <> "to"
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id, details)
  SELECT ${actorValues('$7')}, 'session.terminate', project_id, id, jsonb_build_object('force', $4::bool, 'reason', $5::text) FROM moved
  WHERE $3::text IS NOT NULL
)
SELECT status AS "from" FROM claimed`

/** Returns the status before the call; undefined if this viewer has no such session. */
export async function terminateSessionRow(
  db: Queryable,
  session: { id: string; visibleProjectId: string | null; actor: Actor; force: boolean; reason: string },
): Promise<SessionStatus | undefined> {
  const { id, visibleProjectId, actor, force, reason } = session
  const values = [[id], visibleProjectId, actor.name, force, reason, 'user-cancelled', JSON.stringify(actor)]
  return (await db.query<{ from: SessionStatus }>(SQL, values)).rows[0]?.from
}

/** The same of several that the transaction holds and that have not ended. */
export async function terminateSessionRows(
  tx: Queryable,
  ids: readonly string[],
  { actor, force, reason }: { actor: Actor; force: boolean; reason: string },
): Promise<void> {
  if (ids.length === 0) return
  await tx.query(SQL, [ids, null, actor.name, force, reason, 'user-cancelled', JSON.stringify(actor)])
}

/** Ends sessions whose routes have ended. No person is recorded as the actor. */
export async function terminateRouteSessions(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query(SQL, [ids, null, null, false, 'its route has ended', 'route-ended', null])
}

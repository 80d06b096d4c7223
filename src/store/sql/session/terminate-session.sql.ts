import type { ResubmissionTarget } from '../../../domain/resubmission.ts'
import type { FailureCause, RetryPhase } from '../../../domain/session/failure.ts'
import type { Queryable } from '../../database.ts'
import { CHILD_SOURCE_COLUMNS, type ChildSource, parentAliveMs } from './session-columns.sql.ts'
import type { SessionStatus } from '../../../domain/session/lifecycle.ts'
import { EVENT_POSITION, insertStatusEvents } from '../event/event-data.sql.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from '../access/audit.sql.ts'

/** A session to be resubmitted; while the transaction has it locked, no other transaction can change it. */
export interface LockedTarget extends ResubmissionTarget, Omit<ChildSource, 'rootCreationId'> {
  /** Null if the chain's first session is gone. */
  rootCreationId: string | null
  retryDecided: boolean
  /** The phase of its decision; null if it has none. */
  retryPhase: RetryPhase | null
  failureCause: FailureCause | null
}

/**
 * Locks finished sessions in id order, as everywhere that takes more than one. This excludes decide-retries, which
 * locks sessions FOR UPDATE and skips locked ones. FOR UPDATE would be too strong here: the dispatcher, which may hold
 * the lock on the decision that is locked next, references the session by a foreign key.
 */
const SESSIONS_SQL = `
SELECT s.id FROM sessions s
WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2) AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
ORDER BY s.id
FOR NO KEY UPDATE`

/**
 * Locks their decisions next, in the same order: it waits for a dispatcher that is working on one, and keeps others
 * from claiming one. This happens before any child is written, because two writers of a child of the same parent would
 * wait for each other.
 */
const DECISIONS_SQL = `
SELECT FROM retry_decisions d WHERE d.session_id = ANY($1::uuid[]) ORDER BY d.session_id FOR UPDATE`

/**
 * A separate statement, so that it sees what was committed while it waited for the locks. Without a list of locked
 * sessions, all are reported as locked.
 */
const READ_SQL = `
SELECT s.id, s.session_type AS "sessionType", s.status, s.result, coalesce(s.id = ANY($3::uuid[]), true) AS locked,
  child.id AS "childSessionId", ${parentAliveMs('$4')} AS "parentAliveMs", s.retry_decided AS "retryDecided",
  d.phase AS "retryPhase", s.failure_cause AS "failureCause",${CHILD_SOURCE_COLUMNS}
FROM sessions s
LEFT JOIN sessions root ON root.id = s.chain_id
LEFT JOIN sessions child ON child.parent_session_id = s.id
LEFT JOIN retry_decisions d ON d.session_id = s.id
WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)`

interface TargetsQuery {
  sessionIds: readonly string[]
  visibleProjectId: string | null
  fenceMarginMs: number
}

/** Locks targets and returns them by id; sessions of another project are missing. */
export async function lockTargets(tx: Queryable, query: TargetsQuery): Promise<Map<string, LockedTarget>> {
  const { sessionIds, visibleProjectId } = query
  const held = await tx.query<{ id: string }>(SESSIONS_SQL, [sessionIds, visibleProjectId])
  const locked = held.rows.map(({ id }) => id)
  await tx.query(DECISIONS_SQL, [locked])
  return readTargets(tx, { ...query, locked })
}

/**
 * Reads the present state for information only. `locked` lists the sessions that the transaction has locked; null if it
 * does not matter.
 */
export async function readTargets(
  db: Queryable,
  { sessionIds, visibleProjectId, fenceMarginMs, locked }: TargetsQuery & { locked: readonly string[] | null },
): Promise<Map<string, LockedTarget>> {
  const { rows } = await db.query<LockedTarget>(READ_SQL, [sessionIds, visibleProjectId, locked, fenceMarginMs])
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Terminates sessions: those that never started are CANCELLED at once with their kernels, those with an agent go to
 * TERMINATING. Calling it again on a TERMINATING session changes at most `force`. Locks: sessions in id order, then
 * their kernels in id order.
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
    tries = 0, next_try_at = NULL, pending_reason = NULL, event_position = ${EVENT_POSITION},
    terminated_by = coalesce(s.terminated_by, $3),
    terminate_force = s.terminate_force OR $4,
    status_reason = coalesce(s.status_reason, $5),
    status_data = coalesce(s.status_data,
      jsonb_build_object('error', jsonb_build_object('name', $6::text, 'message', $5::text)))
  FROM claimed c
  WHERE s.id = c.id AND c.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
  RETURNING s.id, s.chain_id, s.project_id, c.status AS "from", s.status AS "to", s.status_reason, s.event_position
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
), marked AS (
  UPDATE chains c SET cancelled_at = reprise_now(), cancelled_by = $3
  FROM moved m WHERE c.chain_id = m.chain_id AND $3::text IS NOT NULL AND c.cancelled_at IS NULL
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

/** Terminates several sessions that the transaction has locked and that have not ended. */
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

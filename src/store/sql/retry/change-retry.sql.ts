import type { RetryPhase } from '../../../domain/session/causes.ts'
import type { Queryable } from '../../database.ts'
import { retryEventData } from '../event/event-data.sql.ts'
import { ACTOR_COLUMNS, actorValues, type Actor } from '../access/record-audit.sql.ts'
import { endWaits } from './retry-waits.sql.ts'

/**
 * A person changes pending retries, which must be SCHEDULED or HELD: changes decisions, ends their waits, and writes events and
 * audit entries. Callers that change several have locked them in session order before.
 */
function statementFor(change: { sets: string; event: string; action: string }): string {
  return `
WITH found AS (
  SELECT s.id, s.retry_count, s.max_retries, s.retry_policy, d.phase
  FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
  WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)
), changed AS (
  UPDATE retry_decisions d SET ${change.sets}
  FROM found f WHERE d.session_id = f.id AND d.phase IN ('SCHEDULED', 'HELD')
  RETURNING d.session_id, d.chain_id, d.project_id, d.cause, d.delay_ms, d.due_at, f.retry_count, f.max_retries,
    f.retry_policy
), ${endWaits('changed')}, events AS (
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT '${change.event}', session_id, chain_id, project_id, ${retryEventData({ reason: '$4::text' })}
  FROM changed WHERE retry_policy -> 'emitRetryEvents' IS DISTINCT FROM 'false'::jsonb
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id)
  SELECT ${actorValues('$3')}, '${change.action}', project_id, session_id FROM changed
)
SELECT f.id AS "sessionId", f.phase, EXISTS (SELECT FROM changed c WHERE c.session_id = f.id) AS changed FROM found f`
}

const CANCEL_SQL = statementFor({
  sets: `phase = 'CANCELLED', hold_reason = NULL, abandoned_at = reprise_now(), explanation = d.explanation || '; ' || $4`,
  event: 'session.retry_cancelled',
  action: 'retry.cancel',
})

/**
 * A held retry may be made due again and again: `explained` keeps the explanation as it was, and only the last note is
 * added to it.
 */
const NOW_SQL = statementFor({
  sets: `phase = 'SCHEDULED', hold_reason = NULL, due_at = reprise_now(), ready_at = reprise_now(),
    explanation = coalesce(d.details ->> 'explained', d.explanation) || '; ' || $4,
    details = CASE WHEN jsonb_typeof(d.details) = 'object' THEN d.details
      || jsonb_build_object('explained', coalesce(d.details ->> 'explained', d.explanation)) ELSE d.details END`,
  event: 'session.retry_scheduled',
  action: 'retry.now',
})

/** `phase` is the phase before the change; null if the session has no decision. */
export interface RetryChange {
  sessionId: string
  phase: RetryPhase | null
  changed: boolean
}

export interface RetryChangeRequest {
  sessionId: string
  visibleProjectId: string | null
  actor: Actor
  /** Added to the explanation, and the event's reason. */
  reason: string
}

/** Undefined if the viewer sees no such session. */
export async function cancelPendingRetry(db: Queryable, request: RetryChangeRequest): Promise<RetryChange | undefined> {
  return run(db, CANCEL_SQL, request)
}

/** Undefined if the viewer sees no such session. */
export async function makeRetryDue(db: Queryable, request: RetryChangeRequest): Promise<RetryChange | undefined> {
  return run(db, NOW_SQL, request)
}

/** The same of several retries that are pending; the transaction holds their decisions. */
export async function changePendingRetries(
  tx: Queryable,
  change: 'cancel' | 'now',
  { sessionIds, actor, message }: { sessionIds: readonly string[]; actor: Actor; message: string },
): Promise<void> {
  if (sessionIds.length === 0) return
  await tx.query<RetryChange>(change === 'cancel' ? CANCEL_SQL : NOW_SQL, [
    sessionIds,
    null,
    JSON.stringify(actor),
    message,
  ])
}

async function run(db: Queryable, statement: string, request: RetryChangeRequest): Promise<RetryChange | undefined> {
  const values = [[request.sessionId], request.visibleProjectId, JSON.stringify(request.actor), request.reason]
  return (await db.query<RetryChange>(statement, values)).rows[0]
}

/**
 * Cancels those of these sessions' retries that are pending and returns how many were. `reason` names what replaces them.
 */
export async function supersedePendingRetries(
  tx: Queryable,
  { sessionIds, actor, reason }: { sessionIds: readonly string[]; actor: Actor; reason: string },
): Promise<number> {
  const values = [sessionIds, null, JSON.stringify(actor), reason]
  const { rows } = await tx.query<RetryChange>(CANCEL_SQL, values)
  return rows.filter(({ changed }) => changed).length
}

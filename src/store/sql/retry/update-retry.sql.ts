import type { RetryPhase } from '../../../domain/session/causes.ts'
import type { RetryPolicy } from '../../../domain/retry/policy/policy.ts'
import type { Queryable } from '../../database.ts'
import type { DecisionRow } from './record-decisions.sql.ts'
import { ACTOR_COLUMNS, actorValues, type Actor } from '../access/record-audit.sql.ts'
import { endWaits } from './retry-waits.sql.ts'

/**
 * FOR NO KEY UPDATE, and the session before its decision, as resubmissions do: a dispatcher that holds the decision
 * references the session by a foreign key.
 */
const LOCK_SESSION_SQL = `
SELECT id FROM sessions WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2) FOR NO KEY UPDATE`

const LOCK_DECISION_SQL = 'SELECT phase FROM retry_decisions WHERE session_id = $1 FOR UPDATE'

/**
 * Locks a session and its decision; waits for whoever is dispatching or cancelling it. Undefined if the viewer sees no
 * such session, null if it has no decision.
 */
export async function lockDecision(
  tx: Queryable,
  { sessionId, visibleProjectId }: { sessionId: string; visibleProjectId: string | null },
): Promise<RetryPhase | null | undefined> {
  const session = await tx.query(LOCK_SESSION_SQL, [sessionId, visibleProjectId])
  if (session.rowCount === 0) return undefined
  const { rows } = await tx.query<{ phase: RetryPhase }>(LOCK_DECISION_SQL, [sessionId])
  return rows[0]?.phase ?? null
}

export interface UpdatedRetry {
  decision: DecisionRow
  policy: RetryPolicy
  sources: Record<string, string>
  actor: Actor
  /** The policy's fields that were given, and what they were before. */
  change: { given: object; before: object }
}

/** Policy, decision, end of the wait, event and audit entry of a retry that is decided anew. The caller has locked both rows. */
const UPDATE_SQL = `
WITH input AS (
  SELECT * FROM json_to_record($1::json) AS i(
    "sessionId" uuid, "projectId" uuid, "chainId" uuid, "phase" retry_phase, "cause" failure_cause,
    "matchedRule" int, "counted" bool, "baseDelayMs" int, "jitterMs" int, "delayMs" int, "dueAt" timestamptz,
    "explanation" text, "details" jsonb, "event" text, "eventData" jsonb)
), decided AS (
  UPDATE sessions s SET retry_policy = $2, retry_policy_sources = $3, max_retries = ($2::jsonb ->> 'maxRetries')::int
  FROM input i WHERE s.id = i."sessionId"
), decisions AS (
  UPDATE retry_decisions d SET phase = i."phase", cause = i."cause", matched_rule = i."matchedRule",
    counted = i."counted", base_delay_ms = i."baseDelayMs", jitter_ms = i."jitterMs", delay_ms = i."delayMs",
    due_at = i."dueAt", ready_at = i."dueAt", hold_reason = NULL, explanation = i."explanation",
    details = i."details", decided_at = reprise_now(), abandoned_at = CASE WHEN i."phase" <> 'SCHEDULED' THEN reprise_now() END
  FROM input i WHERE d.session_id = i."sessionId" AND d.phase IN ('SCHEDULED', 'HELD')
  RETURNING d.session_id
), ${endWaits('decisions')}, events AS (
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT "event", "sessionId", "chainId", "projectId", "eventData" FROM input WHERE "event" IS NOT NULL
)
INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id, details)
SELECT ${actorValues('$4')}, 'retry.update', "projectId", "sessionId",
  jsonb_build_object('phase', "phase", 'explanation', "explanation") || $5::jsonb
FROM input`

export async function updateRetryRow(tx: Queryable, updated: UpdatedRetry): Promise<void> {
  const { decision, policy, sources, actor, change } = updated
  const rows = [decision, policy, sources].map((value) => JSON.stringify(value))
  await tx.query(UPDATE_SQL, [...rows, JSON.stringify(actor), JSON.stringify(change)])
}

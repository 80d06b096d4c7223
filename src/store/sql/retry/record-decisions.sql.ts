import type { RetryEventData, SessionEventType } from '../../../domain/events.ts'
import type { FailureCause, RetryPhase } from '../../../domain/session/failure.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { EVENT_POSITION } from '../event/event-data.sql.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from '../access/audit.sql.ts'

export interface DecisionRow {
  sessionId: string
  projectId: string
  chainId: string
  phase: RetryPhase
  cause: FailureCause | null
  matchedRule: number | null
  counted: boolean
  baseDelayMs: number | null
  jitterMs: number | null
  delayMs: number | null
  /** ISO 8601 */
  dueAt: string | null
  explanation: string
  details: object
  /** Null if the policy emits no retry events or there is nothing to report. */
  event: SessionEventType | null
  eventData: RetryEventData | null
}

const SCHEDULER: Actor = { name: 'scheduler', tokenId: null, userId: null, requestId: null, address: null }

/**
 * Records decisions: the decision rows, the sessions' causes and decided flags, events, and an audit entry for each
 * failure that was judged. The transaction has locked the sessions. A session that it has marked as decided already, a
 * success, is not written again. The primary key of `retry_decisions` allows one decision per session.
 */
const SQL = keepsPlan(`
WITH input AS (
  SELECT * FROM json_to_recordset($1::json) AS i(
    "sessionId" uuid, "projectId" uuid, "chainId" uuid, "phase" retry_phase, "cause" failure_cause,
    "matchedRule" int, "counted" bool, "baseDelayMs" int, "jitterMs" int, "delayMs" int, "dueAt" timestamptz,
    "explanation" text, "details" jsonb, "event" text, "eventData" jsonb)
), positions AS MATERIALIZED (
  SELECT s.id, ${EVENT_POSITION} AS event_position, s.retry_decided FROM input i JOIN sessions s ON s.id = i."sessionId"
), decided AS (
  UPDATE sessions s SET retry_decided = true, failure_cause = i."cause", event_position = p.event_position
  FROM input i JOIN positions p ON p.id = i."sessionId" WHERE s.id = p.id AND NOT p.retry_decided
), decisions AS (
  INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, matched_rule, counted, base_delay_ms,
    jitter_ms, delay_ms, due_at, ready_at, explanation, details, event_position)
  SELECT "sessionId", "projectId", "chainId", "phase", "cause", "matchedRule", "counted", "baseDelayMs", "jitterMs",
    "delayMs", "dueAt", "dueAt", "explanation", "details", p.event_position FROM input JOIN positions p ON p.id = "sessionId"
), events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT p.event_position, "event", "sessionId", "chainId", "projectId", "eventData"
  FROM input JOIN positions p ON p.id = "sessionId" WHERE "event" IS NOT NULL
)
INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id, details)
SELECT ${actorValues('$2')}, 'retry.decided', "projectId", "sessionId",
  jsonb_build_object('phase', "phase", 'cause', "cause", 'explanation', "explanation")
FROM input WHERE "phase" NOT IN ('SUCCEEDED', 'NONE')`)

export async function recordDecisions(
  tx: Queryable,
  decisions: readonly DecisionRow[],
  actor: Actor = SCHEDULER,
): Promise<void> {
  if (decisions.length > 0) await tx.query(SQL, [JSON.stringify(decisions), JSON.stringify(actor)])
}

import type { RetryEventData } from '../../../domain/events.ts'
import type { HoldingSwitch } from '../../../domain/retry/admit.ts'
import type { HoldReason } from '../../../domain/session/failure.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { DECISION_POSITION } from '../event/event-data.sql.ts'
import { beginWaits, endWaits, heldNotes, NOT_HELD } from './retry-waits.sql.ts'

export interface DispatchedRetry {
  sessionId: string
  childSessionId: string
  /** Text for the audit entry: "attempt 2 of 4". */
  label: string
  /** What the dispatch adds to the explanation; null for nothing. */
  note: string | null
  /** Null if the policy emits no retry events. */
  eventData: RetryEventData | null
}

/**
 * Records that children were created in this transaction: settles their parents' decisions, ends recorded waits, and
 * writes events and audit entries.
 */
const DISPATCHED_SQL = keepsPlan(`
WITH input AS (
  SELECT * FROM json_to_recordset($1::json) AS i(
    "sessionId" uuid, "childSessionId" uuid, "label" text, "note" text, "eventData" jsonb)
), ${heldNotes('input')}, settled AS (
  UPDATE retry_decisions d SET phase = 'DISPATCHED', ${NOT_HELD}, child_session_id = i."childSessionId",
    dispatched_at = reprise_now(), event_position = ${DECISION_POSITION}, explanation = d.explanation || coalesce(h.note, '') || coalesce('; ' || i."note", '')
  FROM input i LEFT JOIN held_notes h ON h.session_id = i."sessionId" WHERE d.session_id = i."sessionId"
  RETURNING d.session_id, d.chain_id, d.project_id, d.cause, i."childSessionId", i."label", i."eventData",
    d.event_position
), ${endWaits('settled')}, events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, 'session.retry_dispatched', session_id, chain_id, project_id, "eventData"
  FROM settled WHERE "eventData" IS NOT NULL
)
INSERT INTO audit_log (actor, action, project_id, session_id, details)
SELECT 'scheduler', 'retry.dispatched', project_id, session_id,
  jsonb_build_object('auto', true, 'cause', cause, 'attempt', "label", 'childSessionId', "childSessionId")
FROM settled`)

export async function settleDispatched(tx: Queryable, retries: readonly DispatchedRetry[]): Promise<void> {
  if (retries.length > 0) await tx.query(DISPATCHED_SQL, [JSON.stringify(retries)])
}

export interface HeldRetry {
  sessionId: string
  holdReason: HoldReason
  /**
   * The scope of the setting (retries switched off, rate limit) or of the quota that holds the retry; null if the
   * reason concerns this retry alone.
   */
  scope: string | null
  /** The switch that holds it; null if none does. */
  heldBy: HoldingSwitch | null
  /** Milliseconds until the next try. */
  againInMs: number
  /** Null if it was already held for the same reason by the same switch, or the policy emits no retry events. */
  eventData: RetryEventData | null
}

const HELD_SQL = `
WITH input AS (
  SELECT * FROM json_to_recordset($1::json) AS i(
    "sessionId" uuid, "holdReason" hold_reason, "scope" text, "heldBy" jsonb, "againInMs" float8,
    "eventData" jsonb)
), held AS (
  UPDATE retry_decisions d SET phase = 'HELD', hold_reason = i."holdReason", event_position = ${DECISION_POSITION},
    held_by = i."heldBy", ready_at = reprise_clock() + make_interval(secs => i."againInMs" / 1000)
  FROM input i WHERE d.session_id = i."sessionId"
  RETURNING d.session_id, d.chain_id, d.project_id, d.hold_reason AS "holdReason", i."scope", d.held_by AS "heldBy",
    i."eventData", d.event_position
), ${beginWaits('held')}
INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
SELECT event_position, 'session.retry_held', session_id, chain_id, project_id, "eventData" FROM held WHERE "eventData" IS NOT NULL`

export async function settleHeld(tx: Queryable, retries: readonly HeldRetry[]): Promise<void> {
  if (retries.length > 0) await tx.query(HELD_SQL, [JSON.stringify(retries)])
}

const REFUSED_SQL = `
WITH refused AS (
  UPDATE retry_decisions d SET phase = 'NOT_ELIGIBLE', ${NOT_HELD}, abandoned_at = reprise_now(),
    event_position = ${DECISION_POSITION},
    explanation = i."explanation", details = CASE WHEN jsonb_typeof(d.details) = 'object' THEN d.details ELSE '{}' END
      || jsonb_build_object('error', i."code")
  FROM json_to_recordset($1::json) AS i("sessionId" uuid, "code" text, "explanation" text)
  WHERE d.session_id = i."sessionId"
  RETURNING d.session_id
), ${endWaits('refused')}
SELECT count(*) FROM refused`

/** Ends retries whose child cannot be created, now or later. */
export async function settleRefused(
  tx: Queryable,
  retries: readonly { sessionId: string; code: string; explanation: string }[],
): Promise<void> {
  if (retries.length > 0) await tx.query(REFUSED_SQL, [JSON.stringify(retries)])
}

export interface ExhaustedRetry {
  sessionId: string
  /** Text that precedes the decision's own explanation. */
  explanation: string
  /** Null if the policy emits no retry events. */
  eventData: RetryEventData | null
}

const EXHAUSTED_SQL = `
WITH input AS (
  SELECT * FROM json_to_recordset($1::json) AS i("sessionId" uuid, "explanation" text, "eventData" jsonb)
), exhausted AS (
  UPDATE retry_decisions d SET phase = 'EXHAUSTED', ${NOT_HELD}, abandoned_at = reprise_now(),
    event_position = ${DECISION_POSITION},
    explanation = i."explanation" || '; ' || d.explanation
  FROM input i WHERE d.session_id = i."sessionId"
  RETURNING d.session_id, d.chain_id, d.project_id, d.cause, d.explanation, i."eventData", d.event_position
), ${endWaits('exhausted')}, events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, 'session.retry_exhausted', session_id, chain_id, project_id, "eventData"
  FROM exhausted WHERE "eventData" IS NOT NULL
)
INSERT INTO audit_log (actor, action, project_id, session_id, details)
SELECT 'scheduler', 'retry.decided', project_id, session_id,
  jsonb_build_object('phase', 'EXHAUSTED', 'cause', cause, 'explanation', explanation)
FROM exhausted`

/**
 * Ends retries that would begin later than their policy's `maxElapsed` allows. Settles the decisions, and writes events
 * and audit entries.
 */
export async function settleExhausted(tx: Queryable, retries: readonly ExhaustedRetry[]): Promise<void> {
  if (retries.length > 0) await tx.query(EXHAUSTED_SQL, [JSON.stringify(retries)])
}

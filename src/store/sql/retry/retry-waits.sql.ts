import { RETRY_WAITS_MAX } from '../../../domain/limits.ts'
import { HOLD_REASON_TEXT } from '../../../domain/retry/retry-state.ts'
import type { Queryable } from '../../database.ts'

/**
 * CTEs for the statements that hold and release retries. They record the wait of each retry in the same transaction.
 * The caller has locked the decisions, so that a retry has at most one open wait, and has one exactly while it is HELD.
 * Times are those of the transaction's beginning, like the times of sessions and decisions. Index: retry_waits_pkey.
 */

/** The columns of a decision whose retry is not held. */
export const NOT_HELD = 'hold_reason = NULL, held_by = NULL'

/** Ends the waits of the retries in `rows`, which has their `session_id`. */
export function endWaits(rows: string): string {
  return `waits_ended AS (
  UPDATE retry_waits w SET to_at = greatest(w.from_at, reprise_now())
  WHERE w.session_id = ANY(ARRAY(SELECT session_id FROM ${rows})) AND w.to_at IS NULL
)`
}

/**
 * Begins a wait for each of the retries in `rows`, which has "session_id", "holdReason", "scope" and "heldBy", unless it
 * already waits for that reason.
 */
export function beginWaits(rows: string): string {
  return `waits_before AS MATERIALIZED (
  SELECT r.session_id, r."holdReason", r."scope", r."heldBy", coalesce(last.number, 0) AS number, coalesce(last.to_at IS NULL
    AND (last.number >= ${RETRY_WAITS_MAX} OR last.reason = r."holdReason" AND last.scope IS NOT DISTINCT FROM r."scope"
      AND last.held_by IS NOT DISTINCT FROM r."heldBy"), false) AS goes_on
  FROM ${rows} r LEFT JOIN LATERAL (
    SELECT * FROM retry_waits w WHERE w.session_id = r.session_id ORDER BY w.number DESC LIMIT 1
  ) AS last ON true
), waits_changed AS (SELECT session_id FROM waits_before WHERE NOT goes_on
), ${endWaits('waits_changed')}, waits_begun AS (
  INSERT INTO retry_waits (session_id, number, reason, scope, held_by)
  SELECT session_id, number + 1, "holdReason", "scope", "heldBy" FROM waits_before
  WHERE NOT goes_on AND number < ${RETRY_WAITS_MAX}
)`
}

const WORDS = Object.entries(HOLD_REASON_TEXT)
  .map(([reason, words]) => `WHEN '${reason}' THEN '${words}'`)
  .join(' ')

/**
 * Builds `held_notes`: for each of the retries in `rows`, which has their "sessionId", how long it was held, as the end
 * of an explanation, with who held it and why. Retries that were never held are missing.
 */
export function heldNotes(rows: string): string {
  return `held_spans AS (
  SELECT w.session_id, min(w.number) AS number, extract(epoch FROM
    sum(greatest(coalesce(w.to_at, reprise_now()) - w.from_at, interval '0'))) AS seconds, CASE w.reason ${WORDS} END
    || coalesce(', set by ' || (w.held_by ->> 'by'), '') || coalesce(': ' || (w.held_by ->> 'reason'), '') AS words
  FROM retry_waits w WHERE w.session_id = ANY(ARRAY(SELECT "sessionId" FROM ${rows})) GROUP BY w.session_id, words
), held_notes AS (
  SELECT session_id, string_agg('; held ' || trim_scale(round(seconds::numeric, 3)) || ' s: ' || words, ''
    ORDER BY number) AS note
  FROM held_spans GROUP BY session_id
)`
}

export interface UnreadableSecrets {
  kernelId: string
  assignment: number
  message: string
}

/**
 * Fails kernels that this server cannot start, because a secret cannot be read. The handler of their session's status
 * judges this like any other failure to start.
 */
const SQL = `
WITH unreadable AS (
  SELECT u.*, k.id FROM json_to_recordset($1::json) AS u("kernelId" uuid, "assignment" int, "message" text)
  JOIN kernels k ON k.id = u."kernelId" ORDER BY k.id FOR NO KEY UPDATE OF k
)
UPDATE kernels k SET reason = 'secrets-unreadable', error = jsonb_build_object('name', 'secrets-unreadable',
  'message', 'a secret of its environment could not be read. ' || u."message", 'agentId', k.agent_id)
FROM unreadable u
WHERE k.id = u.id AND k.assignment = u."assignment" AND k.status = 'CREATING' AND k.error IS NULL`

export async function failUnreadable(db: Queryable, kernels: readonly UnreadableSecrets[]): Promise<void> {
  await db.query(SQL, [JSON.stringify(kernels)])
}

import type { Queryable } from '../../database.ts'
import {
  ASKED_ANEW,
  ENDED_ANEW,
  ENDED_ANEW_SETS,
  FAILED_BY_KERNEL,
  TIMED_OUT,
} from './promotion/promotion-parts.sql.ts'

/**
 * Stops the kernels of sessions that are ending: those that may be with an agent are ordered to stop (TERMINATING),
 * those that were never assigned are cancelled. Returns the agents that have something to stop.
 * Locks: kernels in id order; the caller holds the sessions.
 */
const ORDER_STOPS_SQL = `
WITH locked AS (
  SELECT id FROM kernels WHERE session_id = ANY($1::uuid[])
    AND status NOT IN ('TERMINATING', 'TERMINATED', 'ERROR', 'CANCELLED')
  ORDER BY id FOR NO KEY UPDATE
)
UPDATE kernels k SET
  status = CASE WHEN k.agent_id IS NULL THEN 'CANCELLED'::kernel_status ELSE 'TERMINATING' END,
  status_changed_at = reprise_now(),
  terminated_at = CASE WHEN k.agent_id IS NULL THEN reprise_now() END
FROM locked WHERE k.id = locked.id
RETURNING k.agent_id AS "agentId"`

export async function orderStops(tx: Queryable, sessionIds: readonly string[]): Promise<string[]> {
  if (sessionIds.length === 0) return []
  const { rows } = await tx.query<{ agentId: string | null }>(ORDER_STOPS_SQL, [sessionIds])
  return [...new Set(rows.flatMap((row) => (row.agentId === null ? [] : [row.agentId])))]
}

/**
 * How sessions have ended that one of their kernels or a timeout has ended, as far as is known of the others by now:
 * for those that run out of time before all have ended. The caller holds the sessions.
 */
const SETTLE_ENDS_SQL = `
WITH claimed AS (SELECT s.id, ${ASKED_ANEW} FROM sessions s WHERE s.id = ANY($1::uuid[]) AND (${FAILED_BY_KERNEL} OR ${TIMED_OUT}))
UPDATE sessions s SET ${ENDED_ANEW_SETS}
FROM claimed c LEFT JOIN LATERAL ${ENDED_ANEW} ON true
WHERE s.id = c.id AND s.status_data ->> 'kernel' IS DISTINCT FROM ended.kernel`

export async function settleEnds(tx: Queryable, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length > 0) await tx.query(SETTLE_ENDS_SQL, [sessionIds])
}

import { keepsPlan, type Queryable } from '../../database.ts'
import { STOP_GRACE_MS } from './claim-sessions.sql.ts'
import { ASKED_ANEW, ENDED_ANEW, ENDED_ANEW_SETS, FAILED_BY_KERNEL, TIMED_OUT } from './promotion-parts.sql.ts'
import { EVENT_POSITION, insertStatusEvents } from '../event/event-data.sql.ts'

/**
 * The SET list for a kernel `k` whose agent is lost. A kernel that ran has failed, even if it was ordered to stop: its
 * end is unknown. A kernel that was ordered to stop before it ran has stopped. Both release their slots. Others that
 * had not started keep status and slots until their session's handler takes them back.
 */
export const LOST_KERNEL_COLUMNS = `
    status = CASE WHEN k.started_at IS NOT NULL THEN 'ERROR'::kernel_status
      WHEN k.status = 'TERMINATING' THEN 'TERMINATED' ELSE k.status END,
    stopped = k.started_at IS NULL AND k.status = 'TERMINATING',
    status_changed_at = reprise_now(),
    terminated_at = CASE WHEN k.status = 'TERMINATING' OR k.started_at IS NOT NULL THEN reprise_now() END,
    slots_held = k.slots_held AND k.status <> 'TERMINATING' AND k.started_at IS NULL`

/**
 * Stops the kernels of sessions that are ending: those that may be with an agent are ordered to stop (TERMINATING),
 * those that were never assigned are cancelled. Returns the agents that have something to stop. Locks: kernels in id
 * order; the caller has locked the sessions.
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
 * Decides again how ending sessions have ended, from those of their kernels that have ended so far; the others may not
 * end before the termination timeout. Changes only sessions that were ended by one of several kernels or by a timeout.
 * The caller has locked the sessions.
 */
const SETTLE_ENDS_SQL = `
WITH claimed AS (SELECT s.id, ${ASKED_ANEW} FROM sessions s WHERE s.id = ANY($1::uuid[]) AND (${FAILED_BY_KERNEL} OR ${TIMED_OUT}))
UPDATE sessions s SET ${ENDED_ANEW_SETS}
FROM claimed c LEFT JOIN LATERAL ${ENDED_ANEW} ON true
WHERE s.id = c.id AND s.status_data ->> 'kernel' IS DISTINCT FROM ended.kernel`

export async function settleEnds(tx: Queryable, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length > 0) await tx.query(SETTLE_ENDS_SQL, [sessionIds])
}

/**
 * Ends running sessions past their batch timeout as failed, and orders their kernels to stop. The result is
 * preliminary: it is judged again when the kernels have ended, because an agent that was away may report that a program
 * had ended in time (TIMED_OUT). Index: sessions_timing_out.
 */
const SQL = keepsPlan(`
WITH claimed AS (
  SELECT id FROM sessions WHERE status = 'RUNNING' AND times_out_at <= reprise_now()
  ORDER BY times_out_at LIMIT $1 FOR UPDATE SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = 'TERMINATING', status_changed_at = reprise_now(), tries = 0, next_try_at = NULL,
    event_position = ${EVENT_POSITION}, result = 'FAILURE',
    status_reason = 'task-timeout: still running after its batch timeout of ' || s.batch_timeout || ' s',
    status_data = jsonb_build_object('error', jsonb_build_object('name', 'task-timeout',
      'message', 'still running after its batch timeout of ' || s.batch_timeout || ' s'))
  FROM claimed WHERE s.id = claimed.id
  RETURNING s.id, s.chain_id, s.project_id, s.event_position, s.status_reason, 'RUNNING' AS "from", 'TERMINATING' AS "to"
), events AS (
  ${insertStatusEvents('moved', { reason: 'status_reason' })}
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, error_code, message)
  SELECT 'SESSION', id, 'enforce-batch-timeouts', 'RUNNING', 'TERMINATING', 'EXPIRED', 'task-timeout', status_reason
  FROM moved
)
SELECT (SELECT count(*) FROM moved) AS moved,
  (SELECT extract(epoch FROM min(times_out_at) - reprise_now()) * 1000 FROM sessions
    WHERE status = 'RUNNING' AND times_out_at > reprise_now()) AS "nextInMs"`)

/** Returns how many timed out, and the milliseconds until the next one will; null if none is running with a timeout. */
export async function enforceBatchTimeouts(
  db: Queryable,
  limit: number,
): Promise<{ moved: number; nextInMs: number | null }> {
  const { rows } = await db.query<{ moved: number; nextInMs: string | null }>(SQL, [limit])
  const { moved, nextInMs } = rows[0]!
  return { moved, nextInMs: nextInMs === null ? null : Number(nextInMs) }
}

/**
 * Ends kernels whose agent will not report on them, because it is LOST or TERMINATED and has been silent for longer
 * than $1 ms. Kernels that ran, or were ordered to stop, end. The others get the error `agent-lost` but keep their
 * status: the handler of their session's status fails the session or places it again. When an agent is lost, the lease
 * check does this for all kernels that the agent has at that time; this statement finds kernels that were assigned to
 * it later. `confirmed_gone` stays false, because their processes may still be running. Index: kernels_on_agent. Locks:
 * kernels in id order.
 */
const ABANDONED_SQL = keepsPlan(`
WITH locked AS (
  SELECT k.id, a.name FROM agents a JOIN kernels k ON k.agent_id = a.id
  WHERE a.status IN ('LOST', 'TERMINATED')
    AND greatest(a.last_heard_at, a.lease_from) < reprise_now() - make_interval(secs => $1 / 1000.0)
    AND (k.slots_held OR NOT k.confirmed_gone) AND k.status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')
    AND (k.status = 'TERMINATING' OR k.started_at IS NOT NULL OR k.error IS NULL)
  ORDER BY k.id LIMIT $2 FOR NO KEY UPDATE OF k
)
UPDATE kernels k SET
  ${LOST_KERNEL_COLUMNS},
  error = coalesce(k.error, jsonb_build_object('name', 'agent-lost', 'agentId', k.agent_id,
    'message', 'its agent ' || l.name || ' is gone'))
FROM locked l WHERE k.id = l.id AND k.status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')`)

export async function endAbandonedKernels(db: Queryable, silentForMs: number, limit: number): Promise<number> {
  return (await db.query(ABANDONED_SQL, [silentForMs, limit])).rowCount ?? 0
}

/**
 * Ends the remaining kernels of sessions that have ended: they are ordered to stop, and count as terminated when their
 * group's termination timeout has passed. Kernels that were never assigned to an agent are skipped, because they hold
 * no slots. Index: kernels_on_agent. Locks: kernels in id order.
 */
const ORPHANS_SQL = keepsPlan(`
WITH locked AS (
  SELECT k.id FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN resource_groups g ON g.name = s.resource_group
  WHERE (k.slots_held OR NOT k.confirmed_gone) AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
    AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND s.terminated_at < reprise_now() - make_interval(secs => $1 / 1000.0)
    AND (k.status <> 'TERMINATING'
      OR k.status_changed_at < reprise_now() - make_interval(secs =>
        (g.terminate_timeout_ms + greatest(0, (${STOP_GRACE_MS}) - g.stop_grace_ms)) / 1000.0))
  ORDER BY k.id LIMIT $2 FOR NO KEY UPDATE OF k
)
UPDATE kernels k SET
  status = CASE WHEN k.status = 'TERMINATING' THEN 'TERMINATED'::kernel_status ELSE 'TERMINATING' END,
  status_changed_at = reprise_now(),
  terminated_at = CASE WHEN k.status = 'TERMINATING' THEN reprise_now() END,
  slots_held = k.slots_held AND k.status <> 'TERMINATING'
FROM locked l WHERE k.id = l.id AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
RETURNING k.agent_id AS "agentId"`)

/** Returns the agent of each kernel that was moved. */
export async function endOrphanedKernels(db: Queryable, endedForMs: number, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ agentId: string }>(ORPHANS_SQL, [endedForMs, limit])
  return rows.map(({ agentId }) => agentId)
}

export interface SessionWithoutKernels {
  id: string
  status: 'SCHEDULED' | 'PREPARING' | 'PULLING' | 'PREPARED' | 'CREATING' | 'RUNNING'
}

/**
 * Sessions that no kernel can bring to an end: no kernel is live, and there is no main kernel, whose end the handlers
 * would see. PENDING sessions are found only after they are scheduled; TERMINATING sessions end by themselves. Locked
 * for the transaction. Index: sessions_active.
 */
const WITHOUT_KERNELS_SQL = `
SELECT s.id, s.status FROM sessions s
WHERE s.status IN ('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING')
  AND s.status_changed_at < reprise_now() - make_interval(secs => $1 / 1000.0)
  AND NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id
    AND (k.role = 'main' OR k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')))
ORDER BY s.status_changed_at LIMIT $2
FOR UPDATE OF s SKIP LOCKED`

export async function claimSessionsWithoutKernels(
  tx: Queryable,
  forMs: number,
  limit: number,
): Promise<SessionWithoutKernels[]> {
  return (await tx.query<SessionWithoutKernels>(WITHOUT_KERNELS_SQL, [forMs, limit])).rows
}

import type { Queryable } from '../../database.ts'
import { LOST_KERNEL_COLUMNS } from './lost-kernel-columns.sql.ts'

/**
 * Ends kernels whose agent will not report on them: it is LOST, or TERMINATED and silent for as long. Kernels that ran
 * or were to stop have ended; the others get the error and are left to the handler in charge. When an agent is lost,
 * its lease does this for everything on it at that time; what is assigned to it later is found here. Nobody has
 * confirmed that any of them is gone.
 * Index: kernels_on_agent. Locks: kernels in id order.
 */
const ABANDONED_SQL = `
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
FROM locked l WHERE k.id = l.id AND k.status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')`

export async function endAbandonedKernels(db: Queryable, silentForMs: number, limit: number): Promise<number> {
  return (await db.query(ABANDONED_SQL, [silentForMs, limit])).rowCount ?? 0
}

/**
 * Ends kernels with agents whose sessions have ended: they are ordered to stop, and count as terminated when their
 * group's termination timeout has passed. Kernels that were never assigned hold nothing.
 * Index: kernels_on_agent. Locks: kernels in id order.
 */
const ORPHANS_SQL = `
WITH locked AS (
  SELECT k.id FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN resource_groups g ON g.name = s.resource_group
  WHERE (k.slots_held OR NOT k.confirmed_gone) AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
    AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND s.terminated_at < reprise_now() - make_interval(secs => $1 / 1000.0)
    AND (k.status <> 'TERMINATING'
      OR k.status_changed_at < reprise_now() - make_interval(secs => g.terminate_timeout_ms / 1000.0))
  ORDER BY k.id LIMIT $2 FOR NO KEY UPDATE OF k
)
UPDATE kernels k SET
  status = CASE WHEN k.status = 'TERMINATING' THEN 'TERMINATED'::kernel_status ELSE 'TERMINATING' END,
  status_changed_at = reprise_now(),
  terminated_at = CASE WHEN k.status = 'TERMINATING' THEN reprise_now() END,
  slots_held = k.slots_held AND k.status <> 'TERMINATING'
FROM locked l WHERE k.id = l.id AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
RETURNING k.agent_id AS "agentId"`

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
 * Sessions that no kernel can bring to an end: none is live, and there is no main kernel, whose end the handlers would
 * see. PENDING sessions get here only after they are scheduled; TERMINATING sessions end by themselves. Locked for the
 * transaction.
 * Index: sessions_active.
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

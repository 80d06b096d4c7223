import type { Queryable } from '../database.ts'
import { LOST_KERNEL_COLUMNS } from './lost-kernel-columns.sql.ts'

/**
 * Kernels whose agent will not speak of them: it is LOST, or TERMINATED and silent for as long. Those that ran, or
 * were to stop, have ended; the others carry the error and are for the handler in charge. The lease does this for all
 * that is on an agent when it is lost; what comes to be there later is found here. Nobody has confirmed that it is gone.
 * Index: kernels_on_agent. Locks: kernels in id order.
 */
const ABANDONED_SQL = `
WITH locked AS (
  SELECT k.id, a.name FROM agents a JOIN kernels k ON k.agent_id = a.id
  WHERE a.status IN ('LOST', 'TERMINATED')
    AND greatest(a.last_heard_at, a.lease_from) < now() - make_interval(secs => $1 / 1000.0)
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
 * Kernels with agents, of sessions that have ended: they get the order to stop, and are over when the time that their
 * group gives for that has passed. What was never given to an agent holds nothing.
 * Index: kernels_on_agent. Locks: kernels in id order.
 */
const ORPHANS_SQL = `
WITH locked AS (
  SELECT k.id FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN resource_groups g ON g.name = s.resource_group
  WHERE (k.slots_held OR NOT k.confirmed_gone) AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
    AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND s.terminated_at < now() - make_interval(secs => $1 / 1000.0)
    AND (k.status <> 'TERMINATING'
      OR k.status_changed_at < now() - make_interval(secs => g.terminate_timeout_ms / 1000.0))
  ORDER BY k.id LIMIT $2 FOR NO KEY UPDATE OF k
)
UPDATE kernels k SET
  status = CASE WHEN k.status = 'TERMINATING' THEN 'TERMINATED'::kernel_status ELSE 'TERMINATING' END,
  status_changed_at = now(),
  terminated_at = CASE WHEN k.status = 'TERMINATING' THEN now() END,
  slots_held = k.slots_held AND k.status <> 'TERMINATING'
FROM locked l WHERE k.id = l.id AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
RETURNING k.agent_id AS "agentId"`

/** Answers with the agent of each kernel that was moved. */
export async function endOrphanedKernels(db: Queryable, endedForMs: number, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ agentId: string }>(ORPHANS_SQL, [endedForMs, limit])
  return rows.map(({ agentId }) => agentId)
}

export interface BereftSession {
  id: string
  status: 'SCHEDULED' | 'PREPARING' | 'PULLING' | 'PREPARED' | 'CREATING' | 'RUNNING'
}

/**
 * Sessions without a kernel that could bring them to an end: none is live, and there is no main kernel, whose end the
 * handlers see. What is PENDING gets here by being scheduled; what is TERMINATING ends by itself. Held for the
 * transaction.
 * Index: sessions_active.
 */
const BEREFT_SQL = `
SELECT s.id, s.status FROM sessions s
WHERE s.status IN ('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING')
  AND s.status_changed_at < now() - make_interval(secs => $1 / 1000.0)
  AND NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id
    AND (k.role = 'main' OR k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')))
ORDER BY s.status_changed_at LIMIT $2
FOR UPDATE OF s SKIP LOCKED`

export async function claimBereftSessions(tx: Queryable, forMs: number, limit: number): Promise<BereftSession[]> {
  return (await tx.query<BereftSession>(BEREFT_SQL, [forMs, limit])).rows
}

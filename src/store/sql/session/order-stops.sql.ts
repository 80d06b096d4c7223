import type { Queryable } from '../../database.ts'

/**
 * Stops the kernels of sessions that are ending: those that may be with an agent are ordered to stop (TERMINATING),
 * those that were never assigned are cancelled. Returns the agents that have something to stop.
 * Locks: kernels in id order; the caller holds the sessions.
 */
const SQL = `
WITH locked AS (
  SELECT id FROM kernels WHERE session_id = ANY($1::uuid[])
    AND status NOT IN ('TERMINATING', 'TERMINATED', 'ERROR', 'CANCELLED')
  ORDER BY id FOR NO KEY UPDATE
)
UPDATE kernels k SET
  status = CASE WHEN k.agent_id IS NULL THEN 'CANCELLED'::kernel_status ELSE 'TERMINATING' END,
  status_changed_at = now(),
  terminated_at = CASE WHEN k.agent_id IS NULL THEN now() END
FROM locked WHERE k.id = locked.id
RETURNING k.agent_id AS "agentId"`

export async function orderStops(tx: Queryable, sessionIds: readonly string[]): Promise<string[]> {
  if (sessionIds.length === 0) return []
  const { rows } = await tx.query<{ agentId: string | null }>(SQL, [sessionIds])
  return [...new Set(rows.flatMap((row) => (row.agentId === null ? [] : [row.agentId])))]
}

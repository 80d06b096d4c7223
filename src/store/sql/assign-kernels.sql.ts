import type { Queryable } from '../database.ts'

const LOCK_SQL = `SELECT pg_try_advisory_xact_lock(hashtext('reprise:schedule'), hashtext($1)) AS locked`

/** Scheduling of one group is serialised: false where another server is at it. Let go with the transaction. */
export async function lockGroup(tx: Queryable, resourceGroup: string): Promise<boolean> {
  return (await tx.query<{ locked: boolean }>(LOCK_SQL, [resourceGroup])).rows[0]!.locked
}

export interface AgentFree {
  id: string
  /** { slot: amount } as decimal text. */
  free: Record<string, string>
  /** Likewise, with nothing in use. */
  capacity: Record<string, string>
  kernels: number
}

const ROOM_SQL = `
SELECT a.id, json_object_agg(s.slot, (s.capacity - s.used)::text) FILTER (WHERE s.slot IS NOT NULL) AS free,
  json_object_agg(s.slot, s.capacity::text) FILTER (WHERE s.slot IS NOT NULL) AS capacity,
  (SELECT count(*) FROM kernels k WHERE k.agent_id = a.id AND k.slots_held) AS kernels
FROM agents a LEFT JOIN agent_slots s ON s.agent_id = a.id AND s.capacity <= s.declared
WHERE a.resource_group = $1 AND a.status = 'ALIVE'
GROUP BY a.id ORDER BY a.id`

/** Agents of a group that take work, with what they have free. */
export async function readAgentRoom(tx: Queryable, resourceGroup: string): Promise<AgentFree[]> {
  const { rows } = await tx.query<AgentFree>(ROOM_SQL, [resourceGroup])
  return rows.map((row) => ({ ...row, free: row.free ?? {}, capacity: row.capacity ?? {} }))
}

/**
 * Gives kernels to agents; the trigger books their slots, and `agent_slots_never_oversold` refuses the whole
 * statement where the room was less than the caller thought.
 * Locks: kernels in id order; the sessions are held by the caller.
 */
const ASSIGN_SQL = `
WITH input AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS i(kernel_id, agent_id)
), locked AS (
  SELECT k.id, i.agent_id FROM kernels k JOIN input i ON i.kernel_id = k.id
  WHERE k.status = 'PENDING' ORDER BY k.id FOR NO KEY UPDATE OF k
), assigned AS (
  UPDATE kernels k SET status = 'SCHEDULED', status_changed_at = now(), agent_id = l.agent_id,
    assignment = k.assignment + 1, slots_held = true, confirmed_gone = false, error = NULL
  FROM locked l WHERE k.id = l.id
  RETURNING k.id
)
SELECT count(*) AS assigned FROM assigned`

export async function assignKernels(
  tx: Queryable,
  kernels: readonly { kernelId: string; agentId: string }[],
): Promise<void> {
  if (kernels.length === 0) return
  const values = [kernels.map(({ kernelId }) => kernelId), kernels.map(({ agentId }) => agentId)]
  const { rows } = await tx.query<{ assigned: number }>(ASSIGN_SQL, values)
  if (rows[0]!.assigned !== kernels.length) throw new Error('a kernel to be assigned was not PENDING')
}

const OVERTAKEN_SQL = `UPDATE sessions SET skips = skips + 1 WHERE id = ANY($1::uuid[])`

/** The sessions are held by the caller. */
export async function noteOvertaken(tx: Queryable, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length > 0) await tx.query(OVERTAKEN_SQL, [sessionIds])
}

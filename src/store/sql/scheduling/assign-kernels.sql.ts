import { keepsPlan, type Queryable } from '../../database.ts'

const LOCK_SQL = keepsPlan(`
SELECT g.round_robin_at AS "roundRobinAt", EXISTS (SELECT FROM resource_policies) AS "hasQuotas" FROM resource_groups g
WHERE g.name = $1 AND pg_try_advisory_xact_lock(hashtext('reprise:schedule'), hashtext(g.name))`)

export interface LockedGroup {
  /** The agent that ROUND_ROBIN chose last. */
  roundRobinAt: string | null
  /** Whether any quotas exist. */
  hasQuotas: boolean
}

/** Serialises the scheduling of a group until the transaction ends; undefined if another server is scheduling it. */
export async function lockGroup(tx: Queryable, resourceGroup: string): Promise<LockedGroup | undefined> {
  return (await tx.query<LockedGroup>(LOCK_SQL, [resourceGroup])).rows[0]
}

const TURN_SQL = `UPDATE resource_groups SET round_robin_at = $2 WHERE name = $1`

export async function recordTurn(tx: Queryable, resourceGroup: string, agentId: string): Promise<void> {
  await tx.query(TURN_SQL, [resourceGroup, agentId])
}

/**
 * Assigns kernels to agents, which prepare them at once. A trigger takes their slots, and the CHECK
 * `agent_slots_never_oversold` rejects the whole statement if less was free than the caller assumed. Locks: kernels in
 * id order; the caller has locked the sessions.
 */
const ASSIGN_SQL = keepsPlan(`
WITH input AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS i(kernel_id, agent_id)
), locked AS (
  SELECT k.id, i.agent_id FROM kernels k JOIN input i ON i.kernel_id = k.id
  WHERE k.status = 'PENDING' ORDER BY k.id FOR NO KEY UPDATE OF k
), assigned AS (
  UPDATE kernels k SET status = 'PREPARING', status_changed_at = reprise_now(), agent_id = l.agent_id,
    assignment = k.assignment + 1, slots_held = true, confirmed_gone = false, error = NULL,
    note = NULL, waits = false, waited_until = NULL, host = NULL, slurm_job_id = NULL, gpus = NULL, gpu_usage = NULL,
    progress = NULL, progress_at = NULL
  FROM locked l WHERE k.id = l.id
  RETURNING k.id
)
SELECT count(*) AS assigned FROM assigned`)

export async function assignKernels(
  tx: Queryable,
  kernels: readonly { kernelId: string; agentId: string }[],
): Promise<void> {
  if (kernels.length === 0) return
  const values = [kernels.map(({ kernelId }) => kernelId), kernels.map(({ agentId }) => agentId)]
  const { rows } = await tx.query<{ assigned: number }>(ASSIGN_SQL, values)
  if (rows[0]!.assigned !== kernels.length) throw new Error('a kernel to be assigned was not PENDING')
}

const OVERTAKEN_SQL = `
UPDATE sessions s SET skips = s.skips + o.times FROM unnest($1::uuid[], $2::int[]) AS o(id, times) WHERE s.id = o.id`

/** Adds how often each session was overtaken. The caller has locked the sessions. */
export async function recordOvertaken(tx: Queryable, overtaken: ReadonlyMap<string, number>): Promise<void> {
  if (overtaken.size > 0) await tx.query(OVERTAKEN_SQL, [[...overtaken.keys()], [...overtaken.values()]])
}

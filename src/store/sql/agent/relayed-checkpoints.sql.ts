import type { CheckpointCopy, CheckpointRequest, CodeRequest } from '../../../domain/agent/protocol.ts'
import type { Queryable } from '../../database.ts'

/** The chain of a kernel that its agent has or had, with the record of the chain's checkpoint. */
export interface RelayingKernel {
  chainId: string
  projectId: string
  attempt: number
  /** Whether the agent has the kernel now. */
  isCurrent: boolean
  /** The generation on record; 0 if there is no record. */
  generation: number
  /** The newest attempt on record; null for none. */
  newestAttempt: number | null
  relayAttempt: number | null
  relaySha256: string | null
  relayBytes: number | null
  /** When it was recorded. */
  relayAt: Date | null
  /** Whether a copy is of use: a living agent that may run the chain cannot reach this agent's store. */
  isOfUse: boolean
}

/** Indexes: the primary keys; agents are scanned once. */
const READ_SQL = `
SELECT s.chain_id AS "chainId", s.project_id AS "projectId", s.attempt, k.terminated_at IS NULL AS "isCurrent", coalesce(c.generation, 0) AS generation,
  c.attempt AS "newestAttempt", c.relay_attempt AS "relayAttempt", c.relay_sha256 AS "relaySha256",
  c.relay_bytes::float8 AS "relayBytes", c.relay_at AS "relayAt",
  EXISTS (SELECT FROM agents o WHERE o.chain_store <> a.chain_store AND o.status IN ('ALIVE', 'SUSPECT', 'DRAINING')
    AND (o.resource_group = s.resource_group OR s.retry_policy -> 'rules' @> '[{"avoid": "RESOURCE_GROUP"}]')) AS "isOfUse"
FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN agents a ON a.id = k.agent_id
LEFT JOIN checkpoints c ON c.chain_id = s.chain_id
WHERE k.id = $1 AND k.agent_id = $2 AND k.assignment = $3`

export async function readRelayingKernel(
  db: Queryable,
  { kernelId, agentId, assignment }: CodeRequest,
): Promise<RelayingKernel | undefined> {
  return (await db.query<RelayingKernel>(READ_SQL, [kernelId, agentId, assignment])).rows[0]
}

/**
 * Records a copy, and locks the record of the chain's checkpoint. Like the record itself it only moves forward: a copy
 * of an earlier attempt or of a past generation never replaces a later one. Among copies of the same attempt, the one
 * that was requested last wins, even if it does not arrive last. Only the session's first kernel counts, and a
 * published checkpoint of a running program only while the kernel is assigned to its agent. Readers of the row see
 * either the old copy or the new one.
 */
const RECORD_SQL = `
INSERT INTO checkpoints AS c (chain_id, project_id, generation, attempt, assignment, store, files, bytes, published_at,
  relay_attempt, relay_sha256, relay_bytes, relay_at, relay_order)
SELECT s.chain_id, s.project_id, $4, s.attempt, k.assignment, a.chain_store, $5, $6, reprise_now(), s.attempt, $7, $8, reprise_now(), $9
FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN agents a ON a.id = k.agent_id
LEFT JOIN checkpoints r ON r.chain_id = s.chain_id
WHERE k.id = $1 AND k.agent_id = $2 AND k.assignment = $3 AND k.role = 'main' AND k.index = 1
  AND a.chain_store IS NOT NULL AND coalesce(r.generation, 0) = $4 AND (NOT $10 OR k.terminated_at IS NULL)
ON CONFLICT (chain_id) DO UPDATE SET attempt = excluded.attempt, assignment = excluded.assignment, store = excluded.store, files = excluded.files,
  bytes = excluded.bytes, published_at = excluded.published_at, dropped_at = NULL,
  relay_attempt = excluded.relay_attempt, relay_sha256 = excluded.relay_sha256, relay_bytes = excluded.relay_bytes,
  relay_at = excluded.relay_at, relay_order = excluded.relay_order
WHERE c.generation = excluded.generation AND coalesce(c.attempt, 0) <= excluded.attempt
  AND (c.relay_attempt IS DISTINCT FROM excluded.attempt OR coalesce(c.relay_order <= excluded.relay_order, true))`

const STALE_SQL = `
INSERT INTO scheduling_history (entity, entity_id, phase, result, message)
SELECT 'KERNEL', $1::uuid, 'agent-sync', 'SKIPPED', $2
WHERE NOT EXISTS (SELECT FROM scheduling_history h WHERE h.entity_id = $1::uuid AND h.phase = 'agent-sync' AND h.message = $2)`
const STALE = 'stale checkpoint: a newer one, or another generation, is on record'

/** @returns false if something newer is on record, which the kernel's history then mentions */
export async function recordRelayed(
  tx: Queryable,
  { kernelId, agentId, assignment, generation, running = false, order }: CheckpointRequest,
  { files, bytes, sha256, archiveBytes }: CheckpointCopy,
): Promise<boolean> {
  const values = [kernelId, agentId, assignment, generation, files, bytes, sha256, archiveBytes, order ?? null, running]
  if ((await tx.query(RECORD_SQL, values)).rowCount === 1) return true
  await tx.query(STALE_SQL, [kernelId, STALE])
  return false
}

const ORDER_SQL = `SELECT nextval('checkpoint_relay_orders')::float8 AS "order"`

/** @returns a number greater than all before */
export async function nextRelayOrder(db: Queryable): Promise<number> {
  return (await db.query<{ order: number }>(ORDER_SQL)).rows[0]!.order
}

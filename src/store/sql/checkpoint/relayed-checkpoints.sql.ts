import type { Queryable } from '../../database.ts'

/** A kernel that its agent has now, and the record of its chain's checkpoint. */
export interface RelayingKernel {
  projectId: string
  chainId: string
  attempt: number
  /** Of the record; 0 without one. */
  generation: number
  relayAttempt: number | null
  relaySha256: string | null
  relayBytes: number | null
  /** The newest attempt on record; null for none. */
  newestAttempt: number | null
  /** Another agent sees the same store: nobody needs a copy of what is in it. */
  isShared: boolean
}

export interface KernelOfAgent {
  agentId: string
  kernelId: string
  assignment: number
}

/** Index: the primary keys of kernels, sessions and checkpoints. Only the first kernel's look goes on record. */
const SQL = `
SELECT s.project_id AS "projectId", s.chain_id AS "chainId", s.attempt, coalesce(c.generation, 0) AS generation,
  c.relay_attempt AS "relayAttempt", c.relay_sha256 AS "relaySha256", c.relay_bytes::float8 AS "relayBytes",
  c.attempt AS "newestAttempt",
  EXISTS (SELECT FROM agents o WHERE o.chain_store = a.chain_store AND o.id <> a.id AND o.status <> 'TERMINATED') AS "isShared"
FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN agents a ON a.id = k.agent_id
LEFT JOIN checkpoints c ON c.chain_id = s.chain_id
WHERE k.id = $1 AND k.agent_id = $2 AND k.assignment = $3 AND k.terminated_at IS NULL AND k.role = 'main' AND k.index = 1`

export async function readRelayingKernel(
  db: Queryable,
  { kernelId, agentId, assignment }: KernelOfAgent,
): Promise<RelayingKernel | undefined> {
  return (await db.query<RelayingKernel>(SQL, [kernelId, agentId, assignment])).rows[0]
}

/**
 * Monotone, as the record itself: the copy of an earlier attempt, or of a generation that is over, never takes the place
 * of a later one, nor does one of a kernel that its agent has no more. The row is locked by the statement; whoever reads
 * it sees the old copy or the new one.
 */
const RECORD_SQL = `
INSERT INTO checkpoints AS c (chain_id, project_id, generation, attempt, store, files, bytes, published_at,
  relay_attempt, relay_sha256, relay_bytes, relay_at)
SELECT s.chain_id, s.project_id, $4, s.attempt, a.chain_store, $5, $6, now(), s.attempt, $7, $8, now()
FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN agents a ON a.id = k.agent_id
WHERE k.id = $1 AND k.agent_id = $2 AND k.assignment = $3 AND k.terminated_at IS NULL AND k.role = 'main' AND k.index = 1
  AND a.chain_store IS NOT NULL
ON CONFLICT (chain_id) DO UPDATE SET attempt = excluded.attempt, store = excluded.store, files = excluded.files,
  bytes = excluded.bytes, published_at = excluded.published_at, dropped_at = NULL,
  relay_attempt = excluded.relay_attempt, relay_sha256 = excluded.relay_sha256, relay_bytes = excluded.relay_bytes,
  relay_at = excluded.relay_at
WHERE c.generation = excluded.generation AND coalesce(c.attempt, 0) <= excluded.attempt
RETURNING chain_id`

export interface RelayedCheckpoint {
  generation: number
  files: number
  /** Of the files; `archiveBytes` are those of the archive. */
  bytes: number
  sha256: string
  archiveBytes: number
}

/** @returns false if it is of no use any more */
export async function recordRelayed(
  tx: Queryable,
  { kernelId, agentId, assignment }: KernelOfAgent,
  { generation, files, bytes, sha256, archiveBytes }: RelayedCheckpoint,
): Promise<boolean> {
  const values = [kernelId, agentId, assignment, generation, files, bytes, sha256, archiveBytes]
  return (await tx.query(RECORD_SQL, values)).rowCount === 1
}

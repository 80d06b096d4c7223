import { BLOB_KEPT_MS, BLOB_UNFINISHED_KEPT_MS } from '../../domain/limits.ts'
import type { Queryable } from '../database.ts'

/**
 * The records of blobs; see the model Blob. A row is written before the first part of its blob arrives, and locked
 * while the blob is removed: so a sender either has its blob kept, or finds that it has to send it again. Rows are
 * locked in the order of their hashes.
 */
interface Key {
  projectId: string
  sha256: string
}

/** Whether somebody uses the blob `b`. Each user also notes the use (`useBlob`) when it names the blob. */
const USERS = [
  'SELECT FROM code_archives u WHERE u.project_id = b.project_id AND u.sha256 = b.sha256',
  'SELECT FROM output_files u WHERE u.project_id = b.project_id AND u.sha256 = b.sha256',
  'SELECT FROM checkpoints u WHERE u.project_id = b.project_id AND u.relay_sha256 = b.sha256',
]
const NOT_USED = USERS.map((users) => `NOT EXISTS (${users})`).join(' AND ')

const BEGIN_SQL = `
INSERT INTO blobs AS b (project_id, sha256, bytes)
SELECT $1, given.sha256, given.bytes FROM unnest($2::text[], $3::bigint[]) AS given(sha256, bytes) ORDER BY given.sha256
ON CONFLICT (project_id, sha256) DO UPDATE SET last_used_at = reprise_now(),
  bytes = CASE WHEN b.stored_at IS NULL THEN excluded.bytes ELSE b.bytes END
RETURNING sha256, stored_at IS NOT NULL AS stored`

/**
 * Records that parts of these blobs are about to be stored. @returns the hashes of those that are on record as stored
 */
export async function beginBlobs(
  db: Queryable,
  projectId: string,
  blobs: readonly { sha256: string; bytes: number }[],
): Promise<Set<string>> {
  const sizes = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]))
  const { rows } = await db.query<Stored>(BEGIN_SQL, [projectId, [...sizes.keys()], [...sizes.values()]])
  return storedOf(rows)
}

interface Stored {
  sha256: string
  stored: boolean
}

function storedOf(rows: readonly Stored[]): Set<string> {
  return new Set(rows.filter(({ stored }) => stored).map(({ sha256 }) => sha256))
}

const LOCKED = `
WITH known AS (SELECT sha256 FROM blobs WHERE project_id = $1 AND sha256 = ANY($2::text[]) ORDER BY sha256 FOR UPDATE)`

const USE_SQL = `${LOCKED}
UPDATE blobs b SET last_used_at = reprise_now() FROM known
WHERE b.project_id = $1 AND b.sha256 = known.sha256 RETURNING b.sha256, b.stored_at IS NOT NULL AS stored`

/** Keeps these blobs from being removed for a day. @returns the hashes of those that are on record as stored */
export async function useBlobs(db: Queryable, projectId: string, sha256s: readonly string[]): Promise<Set<string>> {
  return storedOf((await db.query<Stored>(USE_SQL, [projectId, sha256s])).rows)
}

const USE_ONE_SQL = `
UPDATE blobs SET last_used_at = reprise_now() WHERE project_id = $1 AND sha256 = $2 AND stored_at IS NOT NULL
RETURNING bytes::float8 AS bytes`

/** The same for a single blob, in the transaction that names it. @returns its size; null if it is not stored */
export async function useBlob(tx: Queryable, { projectId, sha256 }: Key): Promise<number | null> {
  return (await tx.query<{ bytes: number }>(USE_ONE_SQL, [projectId, sha256])).rows[0]?.bytes ?? null
}

const STORED_SQL = `${LOCKED}
UPDATE blobs b SET stored_at = coalesce(b.stored_at, reprise_now()), last_used_at = reprise_now(), bytes = s.bytes
FROM known, unnest($2::text[], $3::bigint[]) AS s(sha256, bytes)
WHERE b.project_id = $1 AND b.sha256 = known.sha256 AND b.sha256 = s.sha256`

/** Records that these blobs are complete and checked. */
export async function recordStored(
  db: Queryable,
  projectId: string,
  blobs: readonly { sha256: string; bytes: number }[],
): Promise<void> {
  const sizes = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]))
  await db.query(STORED_SQL, [projectId, [...sizes.keys()], [...sizes.values()]])
}

const PENDING_SQL = `
SELECT coalesce(sum(b.bytes), 0)::float8 AS bytes FROM blobs b
WHERE b.project_id = $1 AND b.sha256 <> $2 AND ${NOT_USED}`

/** Returns the bytes of the project's other blobs that nothing uses yet. */
export async function readUnusedBytes(db: Queryable, { projectId, sha256 }: Key): Promise<number> {
  return (await db.query<{ bytes: number }>(PENDING_SQL, [projectId, sha256])).rows[0]!.bytes
}

/** Index: blobs(last_used_at). */
const CLAIM_SQL = `
SELECT b.project_id AS "projectId", b.sha256 FROM blobs b
WHERE b.last_used_at < reprise_now() - ${BLOB_UNFINISHED_KEPT_MS} * interval '1 millisecond'
  AND (b.stored_at IS NULL OR b.last_used_at < reprise_now() - ${BLOB_KEPT_MS} * interval '1 millisecond')
  AND ${NOT_USED}
ORDER BY b.last_used_at LIMIT $1 FOR UPDATE SKIP LOCKED`

/** Locks blobs that nothing has used for a day, and parts that nobody has continued for some hours. */
export async function claimUnusedBlobs(tx: Queryable, limit: number): Promise<Key[]> {
  return (await tx.query<Key>(CLAIM_SQL, [limit])).rows
}

const RELEASE_SQL = `
SELECT FROM blobs b WHERE b.project_id = $1 AND b.sha256 = $2 AND b.last_used_at <= $3::timestamptz + interval '1 millisecond'
  AND ${NOT_USED} FOR UPDATE`

/** Locks a blob if nothing uses it, and nobody has asked for it since this time, which is exact to a millisecond. */
export async function claimReleasedBlob(tx: Queryable, { projectId, sha256 }: Key, usedAt: Date): Promise<boolean> {
  return (await tx.query(RELEASE_SQL, [projectId, sha256, usedAt])).rowCount === 1
}

const REMOVE_SQL = `DELETE FROM blobs b USING unnest($1::uuid[], $2::text[]) AS gone(project_id, sha256)
WHERE b.project_id = gone.project_id AND b.sha256 = gone.sha256`

export async function removeBlobRows(tx: Queryable, keys: readonly Key[]): Promise<void> {
  await tx.query(REMOVE_SQL, [keys.map(({ projectId }) => projectId), keys.map(({ sha256 }) => sha256)])
}

const UNRECORDED_SQL = `
SELECT sha256 FROM unnest($2::text[]) AS found(sha256)
WHERE NOT EXISTS (SELECT FROM blobs b WHERE b.project_id = $1 AND b.sha256 = found.sha256)`

/** Returns those of these hashes that have no record. */
export async function readUnrecorded(db: Queryable, projectId: string, sha256s: readonly string[]): Promise<string[]> {
  if (sha256s.length === 0) return []
  const { rows } = await db.query<{ sha256: string }>(UNRECORDED_SQL, [projectId, sha256s])
  return rows.map(({ sha256 }) => sha256)
}

const LOCK_MISSING_SQL = `
INSERT INTO blobs (project_id, sha256, bytes) SELECT $1, $2, 0 WHERE EXISTS (SELECT FROM projects WHERE id = $1)
ON CONFLICT (project_id, sha256) DO NOTHING`
const PROJECT_SQL = 'SELECT FROM projects WHERE id = $1'

/**
 * Locks the key of bytes that may have no record, until the transaction ends.
 *
 * @returns false if there is a record
 */
export async function claimUnrecorded(tx: Queryable, { projectId, sha256 }: Key): Promise<boolean> {
  if ((await tx.query(LOCK_MISSING_SQL, [projectId, sha256])).rowCount === 1) return true
  return (await tx.query(PROJECT_SQL, [projectId])).rowCount === 0
}

/** Index: the primary key of kernels. */
const OF_KERNEL_SQL = `
SELECT s.project_id AS "projectId", s.code_sha256 AS "codeSha256", k.terminated_at IS NULL AS "isCurrent"
FROM kernels k JOIN sessions s ON s.id = k.session_id WHERE k.id = $1 AND k.agent_id = $2 AND k.assignment = $3`

export interface BlobKernel {
  projectId: string
  codeSha256: string | null
  /** Whether the agent has the kernel now. */
  isCurrent: boolean
}

/** Reads the project of a kernel that the agent has or had; undefined for any other kernel. */
export async function readBlobKernel(
  db: Queryable,
  { kernelId, agentId, assignment }: { kernelId: string; agentId: string; assignment: number },
): Promise<BlobKernel | undefined> {
  return (await db.query<BlobKernel>(OF_KERNEL_SQL, [kernelId, agentId, assignment])).rows[0]
}

const OLD_CODE_SQL = `
SELECT c.project_id AS "projectId", c.sha256 FROM code_archives c
WHERE NOT EXISTS (SELECT FROM blobs b WHERE b.project_id = c.project_id AND b.sha256 = c.sha256 AND b.stored_at IS NOT NULL)`
const OLD_CHECKPOINTS_SQL = `
SELECT c.project_id AS "projectId", c.relay_sha256 AS sha256, c.chain_id AS "chainId" FROM checkpoints c
WHERE c.relay_sha256 IS NOT NULL
  AND NOT EXISTS (SELECT FROM blobs b WHERE b.project_id = c.project_id AND b.sha256 = c.relay_sha256 AND b.stored_at IS NOT NULL)`

/** Reads the archives and copies that are on record but not stored as blobs: a server of an older version has them. */
export async function readOldFiles(db: Queryable): Promise<(Key & { chainId?: string })[]> {
  const code = (await db.query<Key>(OLD_CODE_SQL)).rows
  const checkpoints = (await db.query<Key & { chainId: string }>(OLD_CHECKPOINTS_SQL)).rows
  return [...code, ...checkpoints]
}

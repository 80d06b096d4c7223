import { positionOf } from '../event/event-data.sql.ts'
import type { OutputFile, OutputsRequest, OutputsState } from '../../../domain/session/outputs.ts'
import type { SessionResult, SessionStatus } from '../../../domain/session/lifecycle.ts'
import type { CodeRequest } from '../../../domain/agent/protocol.ts'
import type { Queryable } from '../../database.ts'
import { outputsEventData } from '../session/read-outputs.sql.ts'
import { OUTPUT_HASHES_ASKED_MAX } from '../../../domain/limits.ts'

/**
 * The statements by which an agent's outputs arrive. Each takes effect only while the outputs are COLLECTING for the
 * same assignment, so late and repeated reports change nothing.
 */

/** The attempt of a kernel that its agent had, and the state of its outputs. */
export interface CollectedKernel {
  sessionId: string
  projectId: string
  chainId: string
  status: SessionStatus
  result: SessionResult
  /** Outputs are those of the session's first kernel. */
  isFirst: boolean
  request: OutputsRequest | null
  /** Null if the session did not ask for outputs, and none have arrived. */
  state: OutputsState | null
  /** Whether an agent has begun to send them. The servers settle others as long as no agent has. */
  isBegun: boolean
  /** Whether the agent keeps them in place. */
  isKept: boolean
  /** The agent's name. */
  node: string
}

/** Indexes: primary keys. */
const KERNEL_SQL = `
SELECT s.id AS "sessionId", s.project_id AS "projectId", s.chain_id AS "chainId", s.status, s.result,
  k.role = 'main' AND k.index = 1 AS "isFirst", s.outputs AS request, o.state, a.name AS node,
  o.assignment IS NOT NULL AS "isBegun",
  coalesce(o.directory IS NOT NULL AND o.files > 0, false) AS "isKept"
FROM kernels k JOIN sessions s ON s.id = k.session_id JOIN agents a ON a.id = k.agent_id LEFT JOIN session_outputs o ON o.session_id = s.id
WHERE k.id = $1 AND k.agent_id = $2 AND k.assignment = $3`

export async function readCollectedKernel(
  db: Queryable,
  { kernelId, agentId, assignment }: CodeRequest,
): Promise<CollectedKernel | undefined> {
  return (await db.query<CollectedKernel>(KERNEL_SQL, [kernelId, agentId, assignment])).rows[0]
}

const BEGIN_SQL = `
INSERT INTO session_outputs AS o (session_id, project_id, state, assignment, heard_at)
VALUES ($1, $2, 'COLLECTING', $3, reprise_now())
ON CONFLICT (session_id) DO UPDATE SET state = 'COLLECTING', assignment = $3, heard_at = reprise_now(), reasons = '{}', completed_at = NULL
WHERE o.state IN ('WAITING', 'COLLECTING', 'LOST') OR o.state = 'NONE' AND o.assignment IS NULL`

/** @returns false if the outputs have been settled meanwhile */
export async function beginOutputs(
  db: Queryable,
  { sessionId, projectId }: CollectedKernel,
  assignment: number,
): Promise<boolean> {
  return (await db.query(BEGIN_SQL, [sessionId, projectId, assignment])).rowCount === 1
}

const LOCK_SQL = `
SELECT FROM session_outputs WHERE session_id = $1 AND state IN ('COLLECTING', 'LOST') AND assignment = $2 FOR UPDATE`
const CLEAR_SQL = 'DELETE FROM output_files WHERE session_id = $1'
const FILES_SQL = `
INSERT INTO output_files (session_id, project_id, path, bytes, mode, sha256, target, modified_at)
SELECT $1, $2, f.path, f.bytes, f.mode, f.sha256, f.target, f."modifiedAt"
FROM json_to_recordset($3::json) AS f(path text, bytes bigint, mode int, sha256 text, target text, "modifiedAt" timestamptz)
ORDER BY f.path COLLATE "C"
ON CONFLICT (session_id, path) DO UPDATE SET bytes = excluded.bytes, mode = excluded.mode, sha256 = excluded.sha256,
  target = excluded.target, modified_at = excluded.modified_at`

/**
 * Holds the outputs until the transaction ends. An agent may be lost and return while it sends them. @returns false if they
 * are not being collected for this assignment
 */
export async function lockOutputs(tx: Queryable, sessionId: string, assignment: number): Promise<boolean> {
  return (await tx.query(LOCK_SQL, [sessionId, assignment])).rowCount === 1
}

/** Stores a page of the list of files. The first page replaces an earlier list. */
export async function storeOutputFiles(
  tx: Queryable,
  { sessionId, projectId }: CollectedKernel,
  { files, first }: { files: readonly OutputFile[]; first: boolean },
): Promise<void> {
  if (first) await tx.query(CLEAR_SQL, [sessionId])
  await tx.query(FILES_SQL, [sessionId, projectId, JSON.stringify(files)])
}

/** An empty file and a link have no blob. Indexes: primary keys. */
const MISSING_SQL = `
SELECT DISTINCT f.sha256 FROM output_files f
WHERE f.session_id = $1 AND f.target IS NULL AND f.bytes > 0
  AND NOT EXISTS (SELECT FROM blobs b WHERE b.project_id = f.project_id AND b.sha256 = f.sha256 AND b.stored_at IS NOT NULL)
LIMIT ${OUTPUT_HASHES_ASKED_MAX}`

/** Returns hashes of listed files whose content has not arrived. */
export async function readMissingOutputs(tx: Queryable, sessionId: string): Promise<string[]> {
  return (await tx.query<{ sha256: string }>(MISSING_SQL, [sessionId])).rows.map(({ sha256 }) => sha256)
}

export interface SettledOutputs {
  state: OutputsState
  manifest: string | null
  bytes: number
  files: number
  reasons: readonly string[]
  /** Where the files stay; null if the servers have their contents. */
  directory: string | null
  /** What the server says; null to keep them for ever. What the session says, or else its project, comes first. */
  keepDays: number | null
}

const SETTLE_SQL = `
WITH settled AS (
  INSERT INTO session_outputs AS o (session_id, project_id, state, manifest, bytes, files, reasons, directory, node, completed_at, expires_at)
  VALUES ($1, $2, $4, $5, $6, $7, $8, $11, CASE WHEN $11::text IS NOT NULL THEN $12 END, reprise_now(), reprise_now() + make_interval(secs => 86400 *
    coalesce($10::float8, (SELECT p.output_keep_days FROM projects p WHERE p.id = $2), $9::float8)))
  ON CONFLICT (session_id) DO UPDATE SET state = excluded.state, manifest = excluded.manifest, bytes = excluded.bytes,
    files = excluded.files, reasons = excluded.reasons, directory = excluded.directory, node = excluded.node, completed_at = excluded.completed_at, expires_at = excluded.expires_at
  WHERE o.state IN ('WAITING', 'COLLECTING', 'LOST')
  RETURNING session_id, project_id, state, bytes, files
)
INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
SELECT ${positionOf('session_id')}, 'session.outputs_complete', session_id, $3, project_id, ${outputsEventData()} FROM settled`

/** Settles the outputs, with their event. */
export async function settleOutputs(
  tx: Queryable,
  { sessionId, projectId, chainId, request, node }: CollectedKernel,
  { state, manifest, bytes, files, reasons, directory, keepDays }: SettledOutputs,
): Promise<void> {
  const own = request?.keepDays ?? null
  const outputs = [state, manifest, bytes, files, reasons, keepDays, own, directory, node]
  await tx.query(SETTLE_SQL, [sessionId, projectId, chainId, ...outputs])
}

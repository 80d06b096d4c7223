import { CODE_USE_NOTED_MS } from '../../domain/limits.ts'
import type { Queryable } from '../database.ts'

/** Identifies an archive within a project; see the model CodeArchive. */
export interface CodeKey {
  projectId: string
  sha256: string
}

export interface CodeRow {
  sha256: string
  bytes: number
  files: number
  createdBy: string
  createdAt: Date
  lastUsedAt: Date
}

/** The files beside the database that rows refer to. */
export interface StoredFiles {
  code: CodeKey[]
  checkpoints: (CodeKey & { chainId: string })[]
}

const STORED_CODE_SQL = `SELECT project_id AS "projectId", sha256 FROM code_archives`
const STORED_CHECKPOINTS_SQL = `
SELECT project_id AS "projectId", chain_id AS "chainId", relay_sha256 AS sha256 FROM checkpoints
WHERE relay_sha256 IS NOT NULL`

/** Reads all of them, for a backup. */
export async function readStoredFiles(db: Queryable): Promise<StoredFiles> {
  const code = (await db.query<CodeKey>(STORED_CODE_SQL)).rows
  const checkpoints = (await db.query<StoredFiles['checkpoints'][number]>(STORED_CHECKPOINTS_SQL)).rows
  return { code, checkpoints }
}

const COLUMNS = `sha256, bytes::float8 AS bytes, files, created_by AS "createdBy", created_at AS "createdAt",
  last_used_at AS "lastUsedAt"`

const PROJECT_SQL = 'SELECT id FROM projects WHERE name = $1 AND ($2::uuid IS NULL OR id = $2)'

/** Finds a project by name; null if the viewer does not see it. */
export async function findProject(
  db: Queryable,
  name: string,
  visibleProjectId: string | null,
): Promise<string | null> {
  return (await db.query<{ id: string }>(PROJECT_SQL, [name, visibleProjectId])).rows[0]?.id ?? null
}

const READ_SQL = `SELECT ${COLUMNS} FROM code_archives WHERE project_id = $1 AND sha256 = $2`

export async function readCode(db: Queryable, { projectId, sha256 }: CodeKey): Promise<CodeRow | null> {
  return (await db.query<CodeRow>(READ_SQL, [projectId, sha256])).rows[0] ?? null
}

/**
 * A lock on the project, held until the transaction ends while a file of the project is created or removed. Sessions
 * can be created at the same time, because their foreign keys take weaker locks.
 */
const LOCK_SQL = 'SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE'
const USED_SQL = `
SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM code_archives WHERE project_id = $1 AND sha256 <> $2`

/** Locks the code of the project; returns the bytes of its other archives. */
export async function lockCode(tx: Queryable, key: CodeKey): Promise<number> {
  await tx.query(LOCK_SQL, [key.projectId])
  return readCodeBytes(tx, key)
}

export async function readCodeBytes(db: Queryable, { projectId, sha256 }: CodeKey): Promise<number> {
  return (await db.query<{ bytes: number }>(USED_SQL, [projectId, sha256])).rows[0]!.bytes
}

const RECORD_SQL = `
INSERT INTO code_archives (project_id, sha256, bytes, files, created_by) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (project_id, sha256) DO UPDATE SET last_used_at = reprise_now()
RETURNING ${COLUMNS}`

export async function recordCode(
  tx: Queryable,
  { projectId, sha256, bytes, files, createdBy }: CodeKey & Pick<CodeRow, 'bytes' | 'files' | 'createdBy'>,
): Promise<CodeRow> {
  return (await tx.query<CodeRow>(RECORD_SQL, [projectId, sha256, bytes, files, createdBy])).rows[0]!
}

/** Records the use of archives, at most every CODE_USE_NOTED_MS for each. Index: the primary key. */
const USE_SQL = `
WITH wanted AS (
  SELECT DISTINCT p.name AS project, c.project_id, c.sha256
  FROM unnest($1::text[], $2::text[]) AS w(project, sha256)
  JOIN projects p ON p.name = w.project AND ($3::uuid IS NULL OR p.id = $3)
  JOIN code_archives c ON c.project_id = p.id AND c.sha256 = w.sha256
), noted AS (
  UPDATE code_archives c SET last_used_at = reprise_now() FROM wanted w
  WHERE c.project_id = w.project_id AND c.sha256 = w.sha256
    AND c.last_used_at < reprise_now() - ${CODE_USE_NOTED_MS} * interval '1 millisecond'
)
SELECT project, sha256 FROM wanted`

/**
 * Returns the archives that exist, as `<project's name>/<SHA-256>`, and records their use, so that they are not removed
 * soon.
 */
export async function useCode(
  db: Queryable,
  wanted: readonly { project: string; sha256: string }[],
  visibleProjectId: string | null,
): Promise<Set<string>> {
  if (wanted.length === 0) return new Set()
  const values = [wanted.map(({ project }) => project), wanted.map(({ sha256 }) => sha256), visibleProjectId]
  const { rows } = await db.query<{ project: string; sha256: string }>(USE_SQL, values)
  return new Set(rows.map(({ project, sha256 }) => `${project}/${sha256}`))
}

const USE_IN_ALL_SQL = `
WITH noted AS (
  UPDATE code_archives SET last_used_at = reprise_now()
  WHERE sha256 = $1 AND last_used_at < reprise_now() - ${CODE_USE_NOTED_MS} * interval '1 millisecond'
)
SELECT project_id AS "projectId" FROM code_archives WHERE sha256 = $1`

/** Returns the ids of all projects that have this archive, and records its use, so that it is not removed soon. */
export async function useCodeOfProjects(db: Queryable, sha256: string): Promise<Set<string>> {
  const { rows } = await db.query<{ projectId: string }>(USE_IN_ALL_SQL, [sha256])
  return new Set(rows.map(({ projectId }) => projectId))
}

/**
 * Condition of an archive that nothing uses: no session names it, so no session can be retried or resubmitted with it,
 * and no schedule names it.
 */
const UNUSED = `c.last_used_at < reprise_now() - make_interval(days => $1)
  AND NOT EXISTS (SELECT FROM sessions s WHERE s.project_id = c.project_id AND s.code_sha256 = c.sha256)
  AND NOT EXISTS (SELECT FROM schedules d WHERE d.project_id = c.project_id AND d.template ->> 'codeSha256' = c.sha256)`

/** Index: code_archives(last_used_at), sessions_by_code. */
const UNUSED_SQL = `
SELECT c.project_id AS "projectId", c.sha256 FROM code_archives c WHERE ${UNUSED} ORDER BY c.last_used_at LIMIT $2`

export async function readUnusedCode(db: Queryable, keptDays: number, limit: number): Promise<CodeKey[]> {
  return (await db.query<CodeKey>(UNUSED_SQL, [keptDays, limit])).rows
}

const REMOVE_SQL = `DELETE FROM code_archives c WHERE c.project_id = $2 AND c.sha256 = $3 AND ${UNUSED}`

/** @returns false if the archive has been used since */
export async function removeCode(tx: Queryable, { projectId, sha256 }: CodeKey, keptDays: number): Promise<boolean> {
  await tx.query(LOCK_SQL, [projectId])
  return (await tx.query(REMOVE_SQL, [keptDays, projectId, sha256])).rowCount === 1
}

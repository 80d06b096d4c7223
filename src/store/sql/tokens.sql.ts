import type { Queryable } from '../database.ts'

export interface NewToken {
  id: string
  name: string
  hash: Buffer
  prefix: string
  role: 'ADMIN' | 'MEMBER' | 'VIEWER' | 'AGENT'
  projectId: string | null
  /** Null is never. */
  expiresAt?: Date | null
}

const INSERT_SQL = `
INSERT INTO api_tokens (id, name, hash, prefix, role, project_id, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (hash) DO NOTHING`

/** A token that is there already stays as it is. */
export async function insertToken(db: Queryable, token: NewToken): Promise<void> {
  const { id, name, hash, prefix, role, projectId, expiresAt = null } = token
  await db.query(INSERT_SQL, [id, name, hash, prefix, role, projectId, expiresAt])
}

export interface TokenRow {
  id: string
  name: string
  role: NewToken['role']
  projectId: string | null
  userId: string | null
  /** Nobody has noted its use for a minute. */
  useUnnoted: boolean
}

/** Tokens that are in force. Index: api_tokens(hash). */
const FIND_SQL = `
SELECT id, name, role, project_id AS "projectId", user_id AS "userId",
  (last_used_at IS NULL OR last_used_at < now() - interval '1 minute') AS "useUnnoted"
FROM api_tokens
WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`

export async function findToken(db: Queryable, hash: Buffer): Promise<TokenRow | undefined> {
  return (await db.query<TokenRow>(FIND_SQL, [hash])).rows[0]
}

const NOTE_USE_SQL = `
UPDATE api_tokens SET last_used_at = now()
WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`

export async function noteTokenUse(db: Queryable, id: string): Promise<void> {
  await db.query(NOTE_USE_SQL, [id])
}

/** Of a token that is revoked already the time stays. */
const REVOKE_SQL = `
UPDATE api_tokens SET revoked_at = coalesce(revoked_at, now())
WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2)
RETURNING name, project_id AS "projectId"`

/** Undefined where the viewer sees no such token. */
export async function revokeTokenRow(
  db: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<{ name: string; projectId: string | null } | undefined> {
  return (await db.query<{ name: string; projectId: string | null }>(REVOKE_SQL, [id, visibleProjectId])).rows[0]
}

const NOW_SQL = 'SELECT now() AS now'

export async function readNow(db: Queryable): Promise<Date> {
  return (await db.query<{ now: Date }>(NOW_SQL)).rows[0]!.now
}

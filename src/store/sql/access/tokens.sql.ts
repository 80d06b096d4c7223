import type { Queryable } from '../../database.ts'

export interface NewToken {
  id: string
  name: string
  hash: Buffer
  prefix: string
  role: 'ADMIN' | 'MEMBER' | 'VIEWER' | 'AGENT' | 'METRICS'
  projectId: string | null
  userId?: string | null
  /** Null if agents with this token may join any group. */
  resourceGroups?: string[] | null
  /** Null for a token that never expires. */
  expiresAt?: Date | null
}

const INSERT_SQL = `
INSERT INTO api_tokens (id, name, hash, prefix, role, project_id, expires_at, user_id, resource_groups)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (hash) DO NOTHING`

/** Inserts a token; an existing token with this hash is kept. */
export async function insertToken(db: Queryable, token: NewToken): Promise<void> {
  const { id, name, hash, prefix, role, projectId, userId = null, resourceGroups = null, expiresAt = null } = token
  await db.query(INSERT_SQL, [id, name, hash, prefix, role, projectId, expiresAt, userId, resourceGroups])
}

export interface TokenRow {
  id: string
  name: string
  role: NewToken['role']
  projectId: string | null
  userId: string | null
  resourceGroups: string[] | null
  /** The token with which a browser logged in; set for the browser's own token. */
  sessionOf: string | null
  /** Whether its last use was recorded more than a minute ago. */
  useUnnoted: boolean
}

/**
 * The role of a valid token, and the conditions of validity. A browser's token is valid while its parent is, and while
 * it is used. A token of a deleted user is not valid. A token of a user in a project is valid while the user is a member, with the weaker of the two roles: the
 * enum type orders roles from strongest to weakest. Index: project_members(project_id, user_id).
 */
export const ROLE = 'greatest(t.role, m.role)'
export const TOKENS = `api_tokens t LEFT JOIN project_members m ON m.project_id = t.project_id AND m.user_id = t.user_id
  LEFT JOIN api_tokens p ON p.id = t.parent_id`
export const IS_VALID = `t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > reprise_now())
  AND (t.parent_id IS NULL OR (t.last_used_at > reprise_now() - interval '12 hours'
    AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > reprise_now())))
  AND (t.project_id IS NULL OR t.user_id IS NULL OR m.role IS NOT NULL)
  AND NOT EXISTS (SELECT FROM users u WHERE u.id = t.user_id AND u.deleted_at IS NOT NULL)`

const COLUMNS = `t.id, t.name, ${ROLE} AS role, t.project_id AS "projectId", t.user_id AS "userId",
  t.resource_groups AS "resourceGroups", t.parent_id AS "sessionOf",
  (t.last_used_at IS NULL OR t.last_used_at < reprise_now() - interval '1 minute') AS "useUnnoted"`

/** Index: api_tokens(hash). */
const FIND_SQL = `SELECT ${COLUMNS} FROM ${TOKENS} WHERE t.hash = $1 AND ${IS_VALID}`

export async function findToken(db: Queryable, hash: Buffer): Promise<TokenRow | undefined> {
  return (await db.query<TokenRow>(FIND_SQL, [hash])).rows[0]
}

const FIND_BY_ID_SQL = `SELECT ${COLUMNS} FROM ${TOKENS} WHERE t.id = $1 AND ${IS_VALID}`

export async function findTokenById(db: Queryable, id: string): Promise<TokenRow | undefined> {
  return (await db.query<TokenRow>(FIND_BY_ID_SQL, [id])).rows[0]
}

/** Selects the valid ones of these tokens. Index: api_tokens(hash). */
const FIND_VALID_SQL = `SELECT t.hash FROM ${TOKENS} WHERE t.hash = ANY($1::bytea[]) AND ${IS_VALID}`

export async function findValidHashes(db: Queryable, hashes: readonly Buffer[]): Promise<Buffer[]> {
  return (await db.query<{ hash: Buffer }>(FIND_VALID_SQL, [hashes])).rows.map(({ hash }) => hash)
}

const ROLES_SQL = `SELECT t.id, ${ROLE} AS role FROM ${TOKENS} WHERE t.id = ANY($1::uuid[]) AND ${IS_VALID}`

/** Reads the roles of valid tokens, by id. */
export async function readValidRoles(db: Queryable, ids: readonly string[]): Promise<Map<string, NewToken['role']>> {
  const { rows } = await db.query<Pick<TokenRow, 'id' | 'role'>>(ROLES_SQL, [ids])
  return new Map(rows.map(({ id, role }) => [id, role]))
}

const NOTE_USE_SQL = `
UPDATE api_tokens SET last_used_at = reprise_now()
WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < reprise_now() - interval '1 minute')`

export async function recordTokenUse(db: Queryable, id: string): Promise<void> {
  await db.query(NOTE_USE_SQL, [id])
}

const LOCK_ADMIN_SQL = `SELECT pg_advisory_xact_lock(hashtext('reprise:admin-token'))`

/**
 * Serialises the creation of admin tokens until the transaction ends: two servers that find none would each make one.
 */
export async function lockAdminTokens(tx: Queryable): Promise<void> {
  await tx.query(LOCK_ADMIN_SQL)
}

const IS_ADMIN = `role = 'ADMIN' AND project_id IS NULL AND user_id IS NULL AND revoked_at IS NULL`
const HAS_ADMIN_SQL = `SELECT 1 FROM api_tokens WHERE ${IS_ADMIN} AND expires_at IS NULL LIMIT 1`

/** Whether a token exists that never expires and may do everything. */
export async function hasAdminToken(db: Queryable): Promise<boolean> {
  return (await db.query(HAS_ADMIN_SQL)).rows.length > 0
}

/** Revokes admin tokens that servers made; tokens of people stay. */
const REVOKE_ADMIN_SQL = `UPDATE api_tokens SET revoked_at = reprise_now() WHERE ${IS_ADMIN} AND name = 'admin'`

export async function revokeAdminTokens(tx: Queryable): Promise<void> {
  await tx.query(REVOKE_ADMIN_SQL)
}

/** Keeps the time of a token that is already revoked. */
const REVOKE_SQL = `
UPDATE api_tokens SET revoked_at = coalesce(revoked_at, reprise_now())
WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2)
RETURNING name, project_id AS "projectId"`

/** Returns undefined if the viewer sees no such token. */
export async function revokeTokenRow(
  db: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<{ name: string; projectId: string | null } | undefined> {
  return (await db.query<{ name: string; projectId: string | null }>(REVOKE_SQL, [id, visibleProjectId])).rows[0]
}

interface TokenUser {
  id: string
  /** The role in the project; null if the user is no member, or if there is no project. */
  role: 'ADMIN' | 'MEMBER' | 'VIEWER' | null
}

/** Indexes: users(name), project_members(project_id, user_id). */
const FIND_TOKEN_USER_SQL = `
SELECT u.id, m.role
FROM users u LEFT JOIN project_members m ON m.user_id = u.id AND m.project_id = $2
WHERE u.name = $1 AND u.deleted_at IS NULL`

export async function findTokenUser(
  db: Queryable,
  name: string,
  projectId: string | null,
): Promise<TokenUser | undefined> {
  return (await db.query<TokenUser>(FIND_TOKEN_USER_SQL, [name, projectId])).rows[0]
}

/** Limits how long the browser stays logged in; the conditions on tokens limit how long it may be idle. */
const INSERT_BROWSER_SESSIONS = `
INSERT INTO api_tokens (id, name, hash, prefix, role, project_id, user_id, parent_id, expires_at, last_used_at)
SELECT $1, t.name, $2, $3, t.role, t.project_id, t.user_id, t.id, least(reprise_now() + interval '7 days', t.expires_at), reprise_now()
FROM ${TOKENS} WHERE t.id = $4 AND t.parent_id IS NULL AND ${IS_VALID}
RETURNING name, project_id AS "projectId", user_id AS "userId"`

interface Parent {
  name: string
  projectId: string | null
  userId: string | null
}

/** Returns undefined if the parent is no longer valid, or is a browser's token itself. */
export async function insertBrowserSession(
  db: Queryable,
  { id, hash, prefix, parentId }: { id: string; hash: Buffer; prefix: string; parentId: string },
): Promise<Parent | undefined> {
  return (await db.query<Parent>(INSERT_BROWSER_SESSIONS, [id, hash, prefix, parentId])).rows[0]
}

/** Index: api_tokens(parent_id). */
const REMOVE_ENDED_SQL = `
DELETE FROM api_tokens t WHERE t.parent_id = $1 AND NOT (t.revoked_at IS NULL AND t.expires_at > reprise_now()
  AND t.last_used_at > reprise_now() - interval '12 hours')`

/** Deletes the ended browser sessions of this token, which are not looked up any more. */
export async function removeEndedBrowserSessions(db: Queryable, parentId: string): Promise<void> {
  await db.query(REMOVE_ENDED_SQL, [parentId])
}

const END_SQL = `UPDATE api_tokens SET revoked_at = reprise_now() WHERE id = $1 AND parent_id IS NOT NULL AND revoked_at IS NULL`

export async function endBrowserSession(db: Queryable, id: string): Promise<void> {
  await db.query(END_SQL, [id])
}

/** A token has at most one code: a newer one replaces it. */
const INSERT_CODE_SQL = `
INSERT INTO login_codes (hash, token_id, expires_at) VALUES ($1, $2, reprise_now() + interval '60 seconds')
ON CONFLICT (token_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`

export async function insertLoginCode(db: Queryable, hash: Buffer, tokenId: string): Promise<void> {
  await db.query(INSERT_CODE_SQL, [hash, tokenId])
}

/** If several requests take the code at the same time, only one of them gets it. */
const TAKE_CODE_SQL = `
DELETE FROM login_codes WHERE hash = $1 RETURNING token_id AS "tokenId", expires_at > reprise_now() AS "isInTime"`

/** Returns undefined if the code does not exist, was already taken, or is too old. */
export async function takeLoginCode(db: Queryable, hash: Buffer): Promise<string | undefined> {
  const [code] = (await db.query<{ tokenId: string; isInTime: boolean }>(TAKE_CODE_SQL, [hash])).rows
  return code?.isInTime ? code.tokenId : undefined
}

/** Parameter 3 is the most links that a token may have; the oldest are deleted. Index: download_links(token_id). */
const INSERT_LINK_SQL = `
WITH newest AS (SELECT hash FROM download_links WHERE token_id = $2 ORDER BY expires_at DESC LIMIT $3 - 1),
  removed AS (DELETE FROM download_links WHERE token_id = $2 AND hash NOT IN (SELECT hash FROM newest))
INSERT INTO download_links (hash, token_id, expires_at) VALUES ($1, $2, reprise_now() + interval '60 seconds')`

export async function insertDownloadLink(
  db: Queryable,
  { hash, tokenId, max }: { hash: Buffer; tokenId: string; max: number },
): Promise<void> {
  await db.query(INSERT_LINK_SQL, [hash, tokenId, max])
}

/** If several requests take the link at the same time, only one of them gets it. */
const TAKE_LINK_SQL = `
DELETE FROM download_links WHERE hash = $1 RETURNING token_id AS "tokenId", expires_at > reprise_now() AS "isInTime"`

/** Returns undefined if the link does not exist, was already taken, or is too old. */
export async function takeDownloadLink(db: Queryable, hash: Buffer): Promise<string | undefined> {
  const [link] = (await db.query<{ tokenId: string; isInTime: boolean }>(TAKE_LINK_SQL, [hash])).rows
  return link?.isInTime ? link.tokenId : undefined
}

import type { Queryable } from '../../database.ts'
import { IS_VALID, TOKENS } from './tokens.sql.ts'

/** How long the browser may be logged in; see tokens for how long it may be idle. */
const INSERT_SQL = `
INSERT INTO api_tokens (id, name, hash, prefix, role, project_id, user_id, parent_id, expires_at, last_used_at)
SELECT $1, t.name, $2, $3, t.role, t.project_id, t.user_id, t.id, least(reprise_now() + interval '7 days', t.expires_at), reprise_now()
FROM ${TOKENS} WHERE t.id = $4 AND t.parent_id IS NULL AND ${IS_VALID}
RETURNING name, project_id AS "projectId", user_id AS "userId"`

interface Parent {
  name: string
  projectId: string | null
  userId: string | null
}

/** Undefined if the parent is no longer valid, or is a browser's itself. */
export async function insertBrowserSession(
  db: Queryable,
  { id, hash, prefix, parentId }: { id: string; hash: Buffer; prefix: string; parentId: string },
): Promise<Parent | undefined> {
  return (await db.query<Parent>(INSERT_SQL, [id, hash, prefix, parentId])).rows[0]
}

/** Index: api_tokens(parent_id). */
const REMOVE_ENDED_SQL = `
DELETE FROM api_tokens t WHERE t.parent_id = $1 AND NOT (t.revoked_at IS NULL AND t.expires_at > reprise_now()
  AND t.last_used_at > reprise_now() - interval '12 hours')`

/** Of this token: nobody looks for them any more. */
export async function removeEndedBrowserSessions(db: Queryable, parentId: string): Promise<void> {
  await db.query(REMOVE_ENDED_SQL, [parentId])
}

const END_SQL = `UPDATE api_tokens SET revoked_at = reprise_now() WHERE id = $1 AND parent_id IS NOT NULL AND revoked_at IS NULL`

export async function endBrowserSession(db: Queryable, id: string): Promise<void> {
  await db.query(END_SQL, [id])
}

/** One code of a token is enough: a newer one takes its place. */
const INSERT_CODE_SQL = `
INSERT INTO login_codes (hash, token_id, expires_at) VALUES ($1, $2, reprise_now() + interval '60 seconds')
ON CONFLICT (token_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`

export async function insertLoginCode(db: Queryable, hash: Buffer, tokenId: string): Promise<void> {
  await db.query(INSERT_CODE_SQL, [hash, tokenId])
}

/** Of those who take it at once, one gets it. */
const TAKE_CODE_SQL = `
DELETE FROM login_codes WHERE hash = $1 RETURNING token_id AS "tokenId", expires_at > reprise_now() AS "isInTime"`

/** Undefined if there is no such code, or it has been taken, or is too old. */
export async function takeLoginCode(db: Queryable, hash: Buffer): Promise<string | undefined> {
  const [code] = (await db.query<{ tokenId: string; isInTime: boolean }>(TAKE_CODE_SQL, [hash])).rows
  return code?.isInTime ? code.tokenId : undefined
}

/** Parameter 3: how many of a token there may be; the oldest go. Index: download_links(token_id). */
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

/** Of those who take it at once, one gets it. */
const TAKE_LINK_SQL = `
DELETE FROM download_links WHERE hash = $1 RETURNING token_id AS "tokenId", expires_at > reprise_now() AS "isInTime"`

/** Undefined if there is no such link, or it has been taken, or is too old. */
export async function takeDownloadLink(db: Queryable, hash: Buffer): Promise<string | undefined> {
  const [link] = (await db.query<{ tokenId: string; isInTime: boolean }>(TAKE_LINK_SQL, [hash])).rows
  return link?.isInTime ? link.tokenId : undefined
}

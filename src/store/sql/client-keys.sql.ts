import type { Queryable } from '../database.ts'

/** The scope of tokens of all projects. */
const ALL_PROJECTS = '00000000-0000-0000-0000-000000000000'

/** Keys that are removed with each new one, so that the table does not grow faster than it is cleaned. */
const REMOVED_MAX = 10

/**
 * Takes a key, and removes a few expired ones. If another transaction has taken it, this waits for the end of that
 * transaction. Indexes: the primary key, client_keys(created_at).
 */
const TAKE_SQL = `
WITH expired AS (
  SELECT scope_id, key FROM client_keys WHERE created_at < reprise_now() - make_interval(days => $4::int)
  ORDER BY created_at LIMIT ${REMOVED_MAX} FOR UPDATE SKIP LOCKED
), removed AS (
  DELETE FROM client_keys k USING expired e
  WHERE k.scope_id = e.scope_id AND k.key = e.key AND (k.scope_id, k.key) <> (coalesce($1::uuid, '${ALL_PROJECTS}'), $2)
)
INSERT INTO client_keys (scope_id, key, request_hash) VALUES (coalesce($1::uuid, '${ALL_PROJECTS}'), $2, $3)
ON CONFLICT DO NOTHING RETURNING key`

const KNOWN_SQL = `
SELECT request_hash AS "requestHash", answer FROM client_keys
WHERE scope_id = coalesce($1::uuid, '${ALL_PROJECTS}') AND key = $2`

const ANSWER_SQL = `
UPDATE client_keys SET answer = $3 WHERE scope_id = coalesce($1::uuid, '${ALL_PROJECTS}') AND key = $2`

export interface ClientKey {
  /** The project of the token; null for tokens of all projects. */
  projectId: string | null
  key: string
}

export interface KnownRequest {
  requestHash: string
  answer: object
}

/**
 * Takes the key for the transaction. Returns the earlier request with this key; undefined if there is none, so that the
 * caller does the work.
 */
export async function takeClientKey(
  tx: Queryable,
  { projectId, key }: ClientKey,
  request: { hash: string; keptDays: number },
): Promise<KnownRequest | undefined> {
  const { rowCount } = await tx.query(TAKE_SQL, [projectId, key, request.hash, request.keptDays])
  if (rowCount) return undefined
  return (await tx.query<KnownRequest>(KNOWN_SQL, [projectId, key])).rows[0]!
}

/** Notes the answer of the work that this transaction did under the key. */
export async function writeAnswer(tx: Queryable, { projectId, key }: ClientKey, answer: object): Promise<void> {
  await tx.query(ANSWER_SQL, [projectId, key, JSON.stringify(answer)])
}

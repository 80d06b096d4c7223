import type { Quota } from '../../../domain/quota/quota.ts'
import type { Queryable } from '../../database.ts'

/** A quota with those of the given projects that it covers; none for a user's quota. */
export interface LockedQuota extends Omit<Quota, 'maxCheckpointBytes'> {
  projectIds: string[]
}

export interface Owners {
  projectIds: readonly string[]
  userIds: readonly string[]
}

/** What is about to grow: PENDING when sessions are created, RUNNING when sessions are placed. */
export type QuotaConcern = 'PENDING' | 'RUNNING'

/**
 * The quotas that limit these owners' sessions in what is about to grow. Callers that are about to count lock them for
 * the transaction: a count in a later statement then includes everything committed before, and nobody else can add to
 * it, so it stays exact. Locked in key order, as everywhere that takes more than one. Index: the primary key.
 */
const SQL = `
SELECT q.scope, q.scope_id AS "scopeId", coalesce(u.name, p.name, d.name) AS name, q.slots, q.max_running AS "maxRunning",
  q.max_pending AS "maxPending",
  CASE q.scope WHEN 'PROJECT' THEN ARRAY[q.scope_id] WHEN 'USER' THEN ARRAY[]::uuid[]
    ELSE ARRAY(SELECT own.id FROM projects own WHERE own.id = ANY($1) AND own.domain_id = q.scope_id) END AS "projectIds"
FROM resource_policies q
LEFT JOIN users u ON q.scope = 'USER' AND u.id = q.scope_id
LEFT JOIN projects p ON q.scope = 'PROJECT' AND p.id = q.scope_id
LEFT JOIN domains d ON q.scope = 'DOMAIN' AND d.id = q.scope_id
WHERE CASE WHEN $3 = 'PENDING' THEN q.max_pending IS NOT NULL ELSE q.max_running IS NOT NULL OR q.slots <> '{}' END
  AND (q.scope = 'PROJECT' AND q.scope_id = ANY($1::uuid[])
    OR q.scope = 'USER' AND q.scope_id = ANY($2::uuid[])
    OR q.scope = 'DOMAIN' AND q.scope_id IN (SELECT own.domain_id FROM projects own WHERE own.id = ANY($1)))
ORDER BY q.scope, q.scope_id`

/** Locks them for the transaction. */
export async function lockQuotas(tx: Queryable, owners: Owners, concern: QuotaConcern): Promise<LockedQuota[]> {
  return select(tx, `${SQL}\nFOR UPDATE OF q`, owners, concern)
}

/** For information only: locks nothing. */
export async function readLimits(db: Queryable, owners: Owners, concern: QuotaConcern): Promise<LockedQuota[]> {
  return select(db, SQL, owners, concern)
}

async function select(db: Queryable, sql: string, owners: Owners, concern: QuotaConcern): Promise<LockedQuota[]> {
  const { rows } = await db.query<LockedQuota>(sql, [owners.projectIds, owners.userIds, concern])
  return rows
}

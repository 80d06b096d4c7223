import type { RetryPolicy } from '../../../domain/retry/policy/policy.ts'
import type { RetryScope } from '../../../domain/retry/policy/scope.ts'
import type { Queryable } from '../../database.ts'

const SET_CLUSTER_SQL = `
INSERT INTO settings (key, value, updated_at) VALUES ('retry-defaults', $1, reprise_now())
ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at`
const CLEAR_CLUSTER_SQL = `DELETE FROM settings WHERE key = 'retry-defaults'`
const READ_CLUSTER_SQL = `SELECT value AS policy FROM settings WHERE key = 'retry-defaults' FOR UPDATE`

/** Returns the previous policy; null if none was set. A null `policy` clears. */
export async function replaceRetryDefaults(
  tx: Queryable,
  scope: RetryScope,
  scopeId: string,
  policy: Partial<RetryPolicy> | null,
): Promise<unknown> {
  const value = policy === null ? null : JSON.stringify(policy)
  if (scope === 'CLUSTER') {
    const before = await tx.query<{ policy: unknown }>(READ_CLUSTER_SQL)
    await (value === null ? tx.query(CLEAR_CLUSTER_SQL) : tx.query(SET_CLUSTER_SQL, [value]))
    return before.rows[0]?.policy ?? null
  }
  const table = scope === 'DOMAIN' ? 'domains' : 'projects'
  const lock = `SELECT retry_defaults AS policy FROM ${table} WHERE id = $1 FOR NO KEY UPDATE`
  const before = await tx.query<{ policy: unknown }>(lock, [scopeId])
  await tx.query(`UPDATE ${table} SET retry_defaults = $2 WHERE id = $1`, [scopeId, value])
  return before.rows[0]?.policy ?? null
}

export interface StoredDefaults {
  scope: RetryScope
  name: string | null
  policy: unknown
}

/**
 * A viewer of one project sees the defaults that its sessions fall back on: its project's, its domain's and the
 * cluster's.
 */
const LIST_SQL = `
SELECT 'CLUSTER' AS scope, NULL AS name, value AS policy FROM settings WHERE key = 'retry-defaults'
UNION ALL (
  SELECT 'DOMAIN', name, retry_defaults FROM domains d WHERE retry_defaults IS NOT NULL
    AND ($1::uuid IS NULL OR EXISTS (SELECT FROM projects p WHERE p.id = $1 AND p.domain_id = d.id))
  ORDER BY name LIMIT $2)
UNION ALL (
  SELECT 'PROJECT', name, retry_defaults FROM projects WHERE retry_defaults IS NOT NULL
    AND ($1::uuid IS NULL OR id = $1)
  ORDER BY name LIMIT $2)`

/** The cluster's, then the domains', then the projects', by name; at most `limit` of each. */
export async function listRetryDefaults(
  db: Queryable,
  visibleProjectId: string | null,
  limit: number,
): Promise<StoredDefaults[]> {
  return (await db.query<StoredDefaults>(LIST_SQL, [visibleProjectId, limit])).rows
}

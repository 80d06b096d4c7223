import type { RetryScope } from '../../../domain/retry/policy/resolve-policy.ts'
import type { Queryable } from '../../database.ts'
import type { RetryPolicy } from '../../../domain/retry/policy/policy.ts'
import type { PreviewedSession } from '../../../domain/retry/preview.ts'
import { HAD_GPU_MEMORY_BYTES, PEAK_MEMORY_BYTES } from '../session/session-columns.sql.ts'

/** The scope id of the cluster. It is a constant, because the cluster has no row in a table. */
export const CLUSTER_ID = '00000000-0000-0000-0000-000000000000'

const FIND_SCOPE_ID_SQL: Readonly<Record<Exclude<RetryScope, 'CLUSTER'>, string>> = {
  DOMAIN: `SELECT id FROM domains WHERE name = $1 AND $2::uuid IS NULL`,
  PROJECT: `SELECT id FROM projects WHERE name = $1 AND ($2::uuid IS NULL OR id = $2)`,
}

/** Finds a scope's id by its name; undefined if the viewer may not see it. */
export async function findScopeId(
  db: Queryable,
  scope: Exclude<RetryScope, 'CLUSTER'>,
  name: string,
  visibleProjectId: string | null,
): Promise<string | undefined> {
  return (await db.query<{ id: string }>(FIND_SCOPE_ID_SQL[scope], [name, visibleProjectId])).rows[0]?.id
}

interface PreviewSource extends PreviewedSession {
  retryPolicy: unknown
  retryPolicySources: unknown
}

const READ_PREVIEW_SOURCE_SQL = `
SELECT id, retry_count AS "retryCount", uncounted_retries AS "uncountedRetries", status_reason AS "statusReason",
  resource_slots AS "resourceSlots", batch_timeout AS "batchTimeout", gpu_need AS "gpuNeed",
  status_data #>> '{error,name}' AS "failureName", ${PEAK_MEMORY_BYTES} AS "peakMemoryBytes",
  ${HAD_GPU_MEMORY_BYTES} AS "hadGpuMemoryBytes", retry_policy AS "retryPolicy",
  retry_policy_sources AS "retryPolicySources",
  (SELECT before.delay_ms FROM retry_decisions before
    WHERE before.session_id = s.parent_session_id AND s.origin = 'AUTO_RETRY') AS "delayBeforeMs"
FROM sessions s WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2)`

export async function readPreviewSource(
  db: Queryable,
  sessionId: string,
  visibleProjectId: string | null,
): Promise<PreviewSource | undefined> {
  return (await db.query<PreviewSource>(READ_PREVIEW_SOURCE_SQL, [sessionId, visibleProjectId])).rows[0]
}

const SET_CLUSTER_SQL = `
INSERT INTO settings (key, value, updated_at) VALUES ('retry-defaults', $1, reprise_now())
ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at`
const CLEAR_CLUSTER_SQL = `DELETE FROM settings WHERE key = 'retry-defaults'`
const READ_CLUSTER_SQL = `SELECT value AS policy FROM settings WHERE key = 'retry-defaults' FOR UPDATE`

/** Locks the policy of a domain or project until the transaction ends, and reads it; null if none is set. */
export async function lockRetryDefaults(
  tx: Queryable,
  scope: Exclude<RetryScope, 'CLUSTER'>,
  scopeId: string,
): Promise<unknown> {
  const { rows } = await tx.query<{ policy: unknown }>(LOCK_SQL[scope], [scopeId])
  return rows[0]?.policy ?? null
}

const LOCK_SQL = {
  DOMAIN: 'SELECT retry_defaults AS policy FROM domains WHERE id = $1 FOR NO KEY UPDATE',
  PROJECT: 'SELECT retry_defaults AS policy FROM projects WHERE id = $1 FOR NO KEY UPDATE',
} as const

/** Replaces the policy of a scope; a null `policy` clears it. Returns the previous policy; null if none was set. */
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
  const before = await lockRetryDefaults(tx, scope, scopeId)
  await tx.query(`UPDATE ${table} SET retry_defaults = $2 WHERE id = $1`, [scopeId, value])
  return before
}

/**
 * The scopes `i (scope, name)` that $2 and $3 name and that a viewer of the project $1 sees: all if it is null, otherwise
 * the cluster, the project and its domain. The cluster's name is empty. Indexes: those of the unique names.
 */
export const NAMED_SCOPES = `unnest($2::retry_scope[], $3::text[]) AS i(scope, name)
LEFT JOIN domains d ON i.scope = 'DOMAIN' AND d.name = i.name
LEFT JOIN projects p ON i.scope = 'PROJECT' AND p.name = i.name`
export const NAMED_SCOPE_VISIBLE = `(i.scope = 'CLUSTER' AND i.name = '' OR coalesce(d.id, p.id) IS NOT NULL)
  AND ($1::uuid IS NULL OR i.scope = 'CLUSTER' OR p.id = $1
    OR d.id = (SELECT own.domain_id FROM projects own WHERE own.id = $1))`

/** A scope by its name; null for the cluster. */
export interface NamedScope {
  scope: RetryScope
  name: string | null
}

const OF_SQL = `
SELECT i.scope, nullif(i.name, '') AS name, CASE i.scope
  WHEN 'CLUSTER' THEN (SELECT value FROM settings WHERE key = 'retry-defaults')
  ELSE coalesce(d.retry_defaults, p.retry_defaults) END AS policy
FROM ${NAMED_SCOPES}
WHERE ${NAMED_SCOPE_VISIBLE}`

/** Reads the defaults of these scopes, also of those that have none. */
export async function readNamedDefaults(
  db: Queryable,
  visibleProjectId: string | null,
  scopes: readonly NamedScope[],
): Promise<StoredDefaults[]> {
  const values = [visibleProjectId, scopes.map(({ scope }) => scope), scopes.map(({ name }) => name ?? '')]
  return (await db.query<StoredDefaults>(OF_SQL, values)).rows
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

/** Reads the defaults of the cluster, then of domains, then of projects, by name; at most `limit` of each. */
export async function listRetryDefaults(
  db: Queryable,
  visibleProjectId: string | null,
  limit: number,
): Promise<StoredDefaults[]> {
  return (await db.query<StoredDefaults>(LIST_SQL, [visibleProjectId, limit])).rows
}

import type { Quota, QuotaKey, QuotaScope, QuotaUsage, QuotaLimits } from '../../../domain/quota/quota.ts'
import type { Queryable } from '../../database.ts'
import { CHECKPOINT_BYTES } from './checkpoint-bytes.sql.ts'
import { USAGE } from './quota-usage.sql.ts'

export interface UsedQuota extends Quota {
  usage: QuotaUsage
}

/**
 * Selects the quotas that a viewer sees: all if `projectId` is null, otherwise those of its project, its domain and its
 * user.
 */
export interface VisibleTo {
  projectId: string | null
  userId: string | null
}

/** A condition on columns scope, scope_id; $1 and $2 are the viewer's project and user. */
const VISIBLE = `($1::uuid IS NULL OR scope = 'PROJECT' AND scope_id = $1 OR scope = 'USER' AND scope_id = $2::uuid
  OR scope = 'DOMAIN' AND scope_id = (SELECT own.domain_id FROM projects own WHERE own.id = $1))`

/** The quotas of `q (scope, scope_id)`; a scope without limits has no row in resource_policies. */
const QUOTAS = `
SELECT q.scope, q.scope_id AS "scopeId", coalesce(u.name, p.name, d.name) AS name, coalesce(r.slots, '{}') AS slots,
  r.max_running AS "maxRunning", r.max_pending AS "maxPending",
  r.max_checkpoint_bytes::float8 AS "maxCheckpointBytes",
  json_build_object('slots', usage.slots, 'running', usage.running, 'pending', usage.pending,
    'checkpointBytes', ${CHECKPOINT_BYTES}) AS usage
FROM q
LEFT JOIN resource_policies r USING (scope, scope_id)
LEFT JOIN users u ON q.scope = 'USER' AND u.id = q.scope_id
LEFT JOIN projects p ON q.scope = 'PROJECT' AND p.id = q.scope_id
LEFT JOIN domains d ON q.scope = 'DOMAIN' AND d.id = q.scope_id
CROSS JOIN LATERAL ${USAGE} AS usage
ORDER BY q.scope, name`

const LIST_SQL = `WITH q AS (SELECT scope, scope_id FROM resource_policies WHERE ${VISIBLE} LIMIT $3) ${QUOTAS}`

/** All quotas that limit something: users' first, then projects', then domains', by name. */
export async function listQuotas(db: Queryable, viewer: VisibleTo, limit: number): Promise<UsedQuota[]> {
  return (await db.query<UsedQuota>(LIST_SQL, [viewer.projectId, viewer.userId, limit])).rows
}

const OF_SQL = `WITH q AS (SELECT * FROM unnest($1::quota_scope[], $2::uuid[]) AS q(scope, scope_id)) ${QUOTAS}`

/** The quotas of these scopes, also those without limits; scopes that do not exist have no name. */
export async function readQuotas(db: Queryable, keys: readonly QuotaKey[]): Promise<UsedQuota[]> {
  return (await db.query<UsedQuota>(OF_SQL, [keys.map(({ scope }) => scope), keys.map(({ scopeId }) => scopeId)])).rows
}

const FIND_SQL = `
WITH named AS (
  SELECT 'USER'::quota_scope AS scope, id AS scope_id FROM users WHERE $3 = 'USER' AND name = $4
  UNION ALL SELECT 'PROJECT', id FROM projects WHERE $3 = 'PROJECT' AND name = $4
  UNION ALL SELECT 'DOMAIN', id FROM domains WHERE $3 = 'DOMAIN' AND name = $4
)
SELECT scope_id AS id FROM named WHERE ${VISIBLE}`

/** The scope's id by its name; undefined if the viewer may not see it. */
export async function findQuotaScope(
  db: Queryable,
  scope: QuotaScope,
  name: string,
  viewer: VisibleTo,
): Promise<string | undefined> {
  const values = [viewer.projectId, viewer.userId, scope, name]
  return (await db.query<{ id: string }>(FIND_SQL, values)).rows[0]?.id
}

const FIRST_SQL = `SELECT pg_advisory_xact_lock(hashtext('reprise:quota'), hashtext($1))`
const LOCK_SQL = `
SELECT slots, max_running AS "maxRunning", max_pending AS "maxPending",
  max_checkpoint_bytes::float8 AS "maxCheckpointBytes"
FROM resource_policies WHERE scope = $1 AND scope_id = $2 FOR UPDATE`
const WRITE_SQL = `
INSERT INTO resource_policies (scope, scope_id, slots, max_running, max_pending, max_checkpoint_bytes)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (scope, scope_id) DO UPDATE SET slots = EXCLUDED.slots, max_running = EXCLUDED.max_running,
  max_pending = EXCLUDED.max_pending, max_checkpoint_bytes = EXCLUDED.max_checkpoint_bytes, updated_at = reprise_now()`
const CLEAR_SQL = `DELETE FROM resource_policies WHERE scope = $1 AND scope_id = $2`

/**
 * The present limits, locked for the transaction; undefined if none are set. Waits for transactions that count by them.
 * Two that set the first quota of a scope have no row to lock, so an advisory lock serialises them.
 */
export async function lockQuota(tx: Queryable, { scope, scopeId }: QuotaKey): Promise<QuotaLimits | undefined> {
  await tx.query(FIRST_SQL, [`${scope}/${scopeId}`])
  return (await tx.query<QuotaLimits>(LOCK_SQL, [scope, scopeId])).rows[0]
}

/** A quota that limits nothing is deleted. */
export async function writeQuota(tx: Queryable, { scope, scopeId }: QuotaKey, limits: QuotaLimits): Promise<void> {
  const { slots, maxRunning, maxPending, maxCheckpointBytes } = limits
  const limitsNothing =
    Object.keys(slots).length === 0 && [maxRunning, maxPending, maxCheckpointBytes].every((limit) => limit === null)
  await (limitsNothing
    ? tx.query(CLEAR_SQL, [scope, scopeId])
    : tx.query(WRITE_SQL, [scope, scopeId, JSON.stringify(slots), maxRunning, maxPending, maxCheckpointBytes]))
}

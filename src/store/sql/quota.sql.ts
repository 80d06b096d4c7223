import type { CheckpointShortage, Quota, QuotaKey, QuotaLimits, QuotaScope, QuotaUsage } from '../../domain/quota.ts'
import type { Queryable } from '../database.ts'

/**
 * The bytes of all checkpoints that count against `q (scope, scope_id)`: their last measured sizes. A user's
 * checkpoints are those of chains that the user began. Indexes: checkpoints_project_id_idx, and for users the primary
 * keys. About 1 ms for 10,000 checkpoints of a project.
 */
const CHECKPOINT_BYTES = `(SELECT coalesce(sum(bytes), 0)::float8 FROM (
  SELECT p.bytes FROM checkpoints p WHERE q.scope = 'PROJECT' AND p.project_id = q.scope_id AND p.dropped_at IS NULL
  UNION ALL
  SELECT p.bytes FROM projects own JOIN checkpoints p ON p.project_id = own.id AND p.dropped_at IS NULL
  WHERE q.scope = 'DOMAIN' AND own.domain_id = q.scope_id
  UNION ALL
  SELECT p.bytes FROM checkpoints p JOIN sessions root ON root.id = p.chain_id AND root.user_id = q.scope_id
  WHERE q.scope = 'USER' AND p.dropped_at IS NULL) AS p)`

/** The bytes of all kept outputs that the servers store and that count against `q (scope, scope_id)`. Index: session_outputs_kept. */
const OUTPUT_BYTES = `(SELECT coalesce(sum(bytes), 0)::float8 FROM (
  SELECT o.bytes FROM session_outputs o WHERE q.scope = 'PROJECT' AND o.project_id = q.scope_id AND o.files > 0 AND o.directory IS NULL
  UNION ALL
  SELECT o.bytes FROM projects own JOIN session_outputs o ON o.project_id = own.id AND o.files > 0 AND o.directory IS NULL
  WHERE q.scope = 'DOMAIN' AND own.domain_id = q.scope_id
  UNION ALL
  SELECT o.bytes FROM sessions s JOIN session_outputs o ON o.session_id = s.id AND o.files > 0 AND o.directory IS NULL
  WHERE q.scope = 'USER' AND s.user_id = q.scope_id) AS o)`

const OUTPUTS_LEFT_SQL = `
SELECT min(q.max_output_bytes - ${OUTPUT_BYTES})::float8 AS bytes
FROM sessions s JOIN projects own ON own.id = s.project_id JOIN resource_policies q ON q.max_output_bytes IS NOT NULL
  AND (q.scope = 'PROJECT' AND q.scope_id = s.project_id OR q.scope = 'USER' AND q.scope_id = s.user_id
    OR q.scope = 'DOMAIN' AND q.scope_id = own.domain_id)
WHERE s.id = $1`

/** Returns the bytes of outputs that all quotas of a session leave; null if none limits them. It may be negative. */
export async function readOutputBytesLeft(db: Queryable, sessionId: string): Promise<number | null> {
  return (await db.query<{ bytes: number | null }>(OUTPUTS_LEFT_SQL, [sessionId])).rows[0]?.bytes ?? null
}

const ANY_SQL = `SELECT FROM resource_policies WHERE max_checkpoint_bytes IS NOT NULL LIMIT 1`

/** Several quotas may apply to a session: the first one in key order is reported. */
const SQL = `
WITH spent AS MATERIALIZED (
  SELECT * FROM (
    SELECT q.scope, q.scope_id, coalesce(u.name, p.name, d.name) AS name, ${CHECKPOINT_BYTES} AS bytes,
      q.max_checkpoint_bytes::float8 AS "maxBytes"
    FROM resource_policies q
    LEFT JOIN users u ON q.scope = 'USER' AND u.id = q.scope_id
    LEFT JOIN projects p ON q.scope = 'PROJECT' AND p.id = q.scope_id
    LEFT JOIN domains d ON q.scope = 'DOMAIN' AND d.id = q.scope_id
    WHERE q.max_checkpoint_bytes IS NOT NULL) AS q
  WHERE bytes >= "maxBytes"
)
SELECT s.id, q.scope, q.name, q.bytes, q."maxBytes"
FROM sessions s JOIN projects own ON own.id = s.project_id CROSS JOIN LATERAL (
  SELECT * FROM spent q WHERE q.scope = 'PROJECT' AND q.scope_id = s.project_id
    OR q.scope = 'USER' AND q.scope_id = s.user_id OR q.scope = 'DOMAIN' AND q.scope_id = own.domain_id
  ORDER BY q.scope, q.scope_id LIMIT 1) AS q
WHERE s.id = ANY($1::uuid[]) AND s.attempt = 1 AND s.session_type <> 'INFERENCE'`

/**
 * Reads, by id, which of these sessions may not begin a chain yet. A session that continues a chain with a checkpoint may
 * run: its end is what allows the checkpoint to be dropped. Takes no locks, because the size of new checkpoints is not
 * known in advance.
 */
export async function readCheckpointShortages(
  db: Queryable,
  sessions: readonly { id: string; attempt: number }[],
): Promise<Map<string, CheckpointShortage>> {
  const ids = sessions.filter(({ attempt }) => attempt === 1).map(({ id }) => id)
  if (ids.length === 0 || (await db.query(ANY_SQL)).rows.length === 0) return new Map()
  const { rows } = await db.query<CheckpointShortage & { id: string }>(SQL, [ids])
  return new Map(rows.map(({ id, ...shortage }) => [id, shortage]))
}

/**
 * The sessions `s` that count against `q (scope, scope_id)`. Indexes: sessions_live_of_project, sessions_live_of_user;
 * the branches of the other scopes are not executed.
 */
export const COUNTED_SESSIONS = `(
  SELECT s.id, s.status FROM sessions s WHERE q.scope = 'PROJECT' AND s.project_id = q.scope_id
    AND s.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
  UNION ALL
  SELECT s.id, s.status FROM sessions s WHERE q.scope = 'USER' AND s.user_id = q.scope_id
    AND s.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
  UNION ALL
  SELECT s.id, s.status FROM projects own JOIN sessions s ON s.project_id = own.id
    AND s.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
  WHERE q.scope = 'DOMAIN' AND own.domain_id = q.scope_id
)`

/** The usage of `q (scope, scope_id)`: columns running, pending, and slots as { slot: amount }. */
const USAGE = `(
  SELECT count(*) FILTER (WHERE s.status <> 'PENDING') AS running, count(*) FILTER (WHERE s.status = 'PENDING') AS pending,
    (SELECT coalesce(jsonb_object_agg(used.slot, trim_scale(used.amount)::text), '{}') FROM (
      SELECT slot.key AS slot, sum(slot.value::numeric) AS amount
      FROM ${COUNTED_SESSIONS} AS s JOIN kernels k ON k.session_id = s.id AND k.slots_held,
        jsonb_each_text(k.resource_slots) AS slot
      WHERE s.status <> 'PENDING' GROUP BY slot.key) AS used) AS slots
  FROM ${COUNTED_SESSIONS} AS s
)`

export function quotaKey({ scope, scopeId }: QuotaKey): string {
  return `${scope}/${scopeId}`
}

const QUOTA_USAGE = `
SELECT q.scope, q.scope_id AS "scopeId", (SELECT count(*) FROM ${COUNTED_SESSIONS} AS s WHERE s.status = 'PENDING') AS pending
FROM unnest($1::quota_scope[], $2::uuid[]) AS q(scope, scope_id)`

/**
 * Counts the pending sessions of each quota, by `<scope>/<scope id>`: about 1 µs each, 20 ms for 10,000 that were just
 * written.
 */
export async function countPending(db: Queryable, quotas: readonly QuotaKey[]): Promise<Map<string, number>> {
  if (quotas.length === 0) return new Map()
  const { rows } = await db.query<QuotaKey & { pending: number }>(QUOTA_USAGE, [
    quotas.map(({ scope }) => scope),
    quotas.map(({ scopeId }) => scopeId),
  ])
  return new Map(rows.map((row) => [quotaKey(row), row.pending]))
}

export interface UsedQuota extends Quota {
  usage: QuotaUsage
}

/**
 * Selects the quotas that a viewer sees: all if `projectId` is null, otherwise those of its project, its domain and its
 * user.
 */
interface VisibleTo {
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
  r.max_checkpoint_bytes::float8 AS "maxCheckpointBytes", r.max_output_bytes::float8 AS "maxOutputBytes",
  json_build_object('slots', usage.slots, 'running', usage.running, 'pending', usage.pending,
    'checkpointBytes', ${CHECKPOINT_BYTES}, 'outputBytes', ${OUTPUT_BYTES}) AS usage
FROM q
LEFT JOIN resource_policies r USING (scope, scope_id)
LEFT JOIN users u ON q.scope = 'USER' AND u.id = q.scope_id
LEFT JOIN projects p ON q.scope = 'PROJECT' AND p.id = q.scope_id
LEFT JOIN domains d ON q.scope = 'DOMAIN' AND d.id = q.scope_id
CROSS JOIN LATERAL ${USAGE} AS usage
ORDER BY q.scope, name`

const LIST_SQL = `WITH q AS (SELECT scope, scope_id FROM resource_policies WHERE ${VISIBLE} LIMIT $3) ${QUOTAS}`

/** Reads all quotas that limit something: users' first, then projects', then domains', by name. */
export async function listQuotas(db: Queryable, viewer: VisibleTo, limit: number): Promise<UsedQuota[]> {
  return (await db.query<UsedQuota>(LIST_SQL, [viewer.projectId, viewer.userId, limit])).rows
}

const OF_SQL = `WITH q AS (SELECT * FROM unnest($1::quota_scope[], $2::uuid[]) AS q(scope, scope_id)) ${QUOTAS}`

/** Reads the quotas of these scopes, even those without limits; scopes that do not exist have no name. */
export async function readQuotas(db: Queryable, keys: readonly QuotaKey[]): Promise<UsedQuota[]> {
  return (await db.query<UsedQuota>(OF_SQL, [keys.map(({ scope }) => scope), keys.map(({ scopeId }) => scopeId)])).rows
}

/** Indexes: those of the unique names. */
const FIND_SQL = `
WITH asked AS (SELECT * FROM unnest($3::text[], $4::text[]) AS asked(kind, name)), named AS (
  SELECT 'USER'::quota_scope AS scope, u.id AS scope_id FROM asked a JOIN users u ON u.name = a.name
  WHERE a.kind = 'USER' AND u.deleted_at IS NULL
  UNION ALL SELECT 'PROJECT', p.id FROM asked a JOIN projects p ON p.name = a.name WHERE a.kind = 'PROJECT'
  UNION ALL SELECT 'DOMAIN', d.id FROM asked a JOIN domains d ON d.name = a.name WHERE a.kind = 'DOMAIN'
)
SELECT scope, scope_id AS "scopeId" FROM named WHERE ${VISIBLE}`

/** Finds the ids of scopes by their names; those that the viewer may not see are missing. */
export async function findQuotaScopes(
  db: Queryable,
  scopes: readonly { scope: QuotaScope; name: string }[],
  viewer: VisibleTo,
): Promise<QuotaKey[]> {
  const values = [viewer.projectId, viewer.userId, scopes.map(({ scope }) => scope), scopes.map(({ name }) => name)]
  return (await db.query<QuotaKey>(FIND_SQL, values)).rows
}

const FIRST_SQL = `SELECT pg_advisory_xact_lock(hashtext('reprise:quota'), hashtext($1))`
const LOCK_SQL = `
SELECT slots, max_running AS "maxRunning", max_pending AS "maxPending",
  max_checkpoint_bytes::float8 AS "maxCheckpointBytes", max_output_bytes::float8 AS "maxOutputBytes"
FROM resource_policies WHERE scope = $1 AND scope_id = $2 FOR UPDATE`
const WRITE_SQL = `
INSERT INTO resource_policies (scope, scope_id, slots, max_running, max_pending, max_checkpoint_bytes, max_output_bytes)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (scope, scope_id) DO UPDATE SET slots = EXCLUDED.slots, max_running = EXCLUDED.max_running,
  max_pending = EXCLUDED.max_pending, max_checkpoint_bytes = EXCLUDED.max_checkpoint_bytes,
  max_output_bytes = EXCLUDED.max_output_bytes, updated_at = reprise_now()`
const CLEAR_SQL = `DELETE FROM resource_policies WHERE scope = $1 AND scope_id = $2`

/**
 * Locks the present limits for the transaction and returns them; undefined if none are set. It waits for transactions
 * that count against them. If two transactions set the first quota of a scope, there is no row to lock, so an advisory
 * lock serialises them.
 */
export async function lockQuota(tx: Queryable, { scope, scopeId }: QuotaKey): Promise<QuotaLimits | undefined> {
  await tx.query(FIRST_SQL, [`${scope}/${scopeId}`])
  return (await tx.query<QuotaLimits>(LOCK_SQL, [scope, scopeId])).rows[0]
}

/** Writes a quota; one that limits nothing is deleted. */
export async function writeQuota(tx: Queryable, { scope, scopeId }: QuotaKey, limits: QuotaLimits): Promise<void> {
  const { slots, maxRunning, maxPending, maxCheckpointBytes, maxOutputBytes } = limits
  const numbers = [maxRunning, maxPending, maxCheckpointBytes, maxOutputBytes]
  const limitsNothing = Object.keys(slots).length === 0 && numbers.every((limit) => limit === null)
  await (limitsNothing
    ? tx.query(CLEAR_SQL, [scope, scopeId])
    : tx.query(WRITE_SQL, [scope, scopeId, JSON.stringify(slots), ...numbers]))
}

/** A quota with those of the given projects that it covers; none for a user's quota. */
export interface LockedQuota extends Omit<Quota, 'maxCheckpointBytes' | 'maxOutputBytes'> {
  projectIds: string[]
}

export interface Owners {
  projectIds: readonly string[]
  userIds: readonly string[]
}

/** The number that is about to grow: PENDING when sessions are created, RUNNING when sessions are placed. */
type QuotaConcern = 'PENDING' | 'RUNNING'

/**
 * Reads the quotas that limit these owners' sessions. Callers that are about to count lock them for the transaction: a
 * count in a later statement then includes everything committed before, and no other transaction can add to it, so it
 * stays exact. They are locked in key order, as everywhere that takes more than one. Index: the primary key.
 */
const LOCK_QUOTAS = `
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

/** Reads the quotas and locks them for the transaction. */
export async function lockQuotas(tx: Queryable, owners: Owners, concern: QuotaConcern): Promise<LockedQuota[]> {
  return select(tx, `${LOCK_QUOTAS}\nFOR UPDATE OF q`, owners, concern)
}

/** Reads the quotas for information only, without locks. */
export async function readLimits(db: Queryable, owners: Owners, concern: QuotaConcern): Promise<LockedQuota[]> {
  return select(db, LOCK_QUOTAS, owners, concern)
}

async function select(db: Queryable, sql: string, owners: Owners, concern: QuotaConcern): Promise<LockedQuota[]> {
  const { rows } = await db.query<LockedQuota>(sql, [owners.projectIds, owners.userIds, concern])
  return rows
}

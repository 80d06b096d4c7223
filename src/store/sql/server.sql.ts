import type { Database, Queryable } from '../database.ts'
import type { WarningFacts } from '../../domain/warning.ts'
import { OVERFLOW_FINGERPRINT } from './insight/failures.sql.ts'

const SQL = 'SELECT reprise_now() AS now'

export async function readNow(db: Queryable): Promise<Date> {
  return (await db.query<{ now: Date }>(SQL)).rows[0]!.now
}

/**
 * Records that this server is running. The first server to do so after an outage gives every agent a full lease,
 * because no server could hear the agents during the outage. Agents that run as their own processes are heard only by
 * servers with the api role, so their leases restart when the first of those is back, even if other servers were
 * running meanwhile; an embedded agent only ever talks to its own process. Returns true if no server at all had been
 * running.
 */
const SERVER_PRESENCE = `
WITH absent AS (
  SELECT coalesce(max(last_seen_at) < reprise_now() - make_interval(secs => $5 / 1000.0), true) AS everybody,
    coalesce(max(last_seen_at) FILTER (WHERE 'api' = ANY(roles)) < reprise_now() - make_interval(secs => $5 / 1000.0), true)
      AND 'api' = ANY($4::text[]) AS apis
  FROM servers
), present AS (
  INSERT INTO servers (id, host, pid, roles) VALUES ($1, $2, $3, $4)
  ON CONFLICT (id) DO UPDATE SET last_seen_at = reprise_now()
), forgotten AS (
  DELETE FROM servers WHERE last_seen_at < reprise_now() - interval '1 day' AND id <> $1
), graced AS (
  UPDATE agents SET lease_from = reprise_now(), status = CASE WHEN status = 'SUSPECT' THEN 'ALIVE' ELSE status END
  WHERE status IN ('ALIVE', 'SUSPECT', 'DRAINING')
    AND (SELECT CASE WHEN embedded THEN everybody ELSE apis END FROM absent)
)
SELECT everybody AS "afterOutage" FROM absent`

export interface ServerIdentity {
  id: string
  host: string
  pid: number
  roles: string[]
}

export async function recordPresence(db: Queryable, server: ServerIdentity, outageAfterMs: number): Promise<boolean> {
  const values = [server.id, server.host, server.pid, server.roles, outageAfterMs]
  return (await db.query<{ afterOutage: boolean }>(SERVER_PRESENCE, values)).rows[0]!.afterOutage
}

const REMOVE_SQL = `DELETE FROM servers WHERE id = $1`

export async function removePresence(db: Queryable, serverId: string): Promise<void> {
  await db.query(REMOVE_SQL, [serverId])
}

const NOTE_SQL = `
WITH noted AS (
  INSERT INTO settings (key, value) VALUES ('secrets.key', to_jsonb($1::text)) ON CONFLICT (key) DO NOTHING RETURNING value
)
SELECT coalesce((SELECT value FROM noted), (SELECT value FROM settings WHERE key = 'secrets.key')) #>> '{}' AS id`

/** Records the id of the key with which secrets are encrypted, unless one is recorded; returns the recorded one. */
export async function noteSecretsKey(db: Queryable, keyId: string): Promise<string> {
  const noted = (await db.query<{ id: string | null }>(NOTE_SQL, [keyId])).rows[0]!.id
  // Another server wrote it at the same moment, after this statement's snapshot.
  return noted ?? noteSecretsKey(db, keyId)
}

const ADOPT_SQL = `UPDATE settings SET value = to_jsonb($1::text), updated_at = reprise_now() WHERE key = 'secrets.key' AND value #>> '{}' = $2`

export async function adoptSecretsKey(db: Queryable, keyId: string, before: string): Promise<void> {
  await db.query(ADOPT_SQL, [keyId, before])
}

/** Reads small tables and one small partial index only, because readiness probes need it. */
const WARNING_FACTS_SQL = `
WITH present AS (
  SELECT isolation, embedded, warnings FROM agents WHERE status NOT IN ('LOST', 'TERMINATED')
), reported AS (
  SELECT w ->> 'kind' AS kind, w ->> 'text' AS text, count(*)::int AS agents
  FROM present, jsonb_array_elements(warnings) AS w WHERE NOT embedded
  GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 50
)
SELECT array_remove(ARRAY[
    CASE WHEN r.rolsuper THEN 'SUPERUSER' END, CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
    CASE WHEN r.rolreplication THEN 'REPLICATION' END, CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END
  ], NULL) AS attributes,
  has_database_privilege('public', current_database(), 'CONNECT') AS "openToAllRoles",
  CASE WHEN EXISTS (
      SELECT FROM api_tokens WHERE role NOT IN ('ADMIN', 'AGENT') AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > reprise_now()))
    THEN (SELECT count(*)::int FROM present WHERE isolation = 'none') ELSE 0 END AS "agentsAtRisk",
  (SELECT count(*)::int FROM projects) AS projects,
  (SELECT count(*)::int FROM failure_groups WHERE fingerprint = '${OVERFLOW_FINGERPRINT}' AND last_at > reprise_now() - interval '1 day')
    AS "projectsWithTooManyFailures",
  (SELECT coalesce(json_agg(reported), '[]') FROM reported) AS reported
FROM pg_roles r WHERE r.rolname = current_user`

export async function readWarningFacts(db: Queryable): Promise<WarningFacts> {
  return (await db.query<WarningFacts>(WARNING_FACTS_SQL)).rows[0]!
}

/** One figure about the database's contents; `label` is a status, a phase or a reason. */
export interface GaugeFigure {
  gauge:
    | 'sessions'
    | 'agents'
    | 'refusing'
    | 'queue'
    | 'overdue'
    | 'decisions'
    | 'resubmissions'
    | 'webhookQueue'
    | 'webhookOverdue'
    | 'deployments'
    | 'routes'
    | 'missing'
  label: string | null
  value: number
}

/** The most pages of decisions that are sampled: 16 MiB, about 30,000 decisions. */
const SAMPLE_PAGES_MAX = 2_000
const STATEMENT_TIMEOUT_MS = 2_000

/** SAMPLE_PAGES_MAX as a percentage of the pages of `retry_decisions`; 100 if there are no more. */
const SAMPLE_PERCENT = `least(100, 100.0 * ${SAMPLE_PAGES_MAX} * 8192 / greatest(1, pg_relation_size('retry_decisions')))::real`

/**
 * Reads the gauges. An agent status without agents gives 0, because alerts compare with it; other labels have a figure
 * only if something has them. Sessions, deployments, routes and the queue are counted through their partial indexes,
 * which contain only what has not ended. Decisions are estimated from a sample, which is exact while there are few.
 */
const READ_GAUGES = `
SELECT 'sessions' AS gauge, status::text AS label, count(*)::float8 AS value FROM sessions
  WHERE status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') GROUP BY status
UNION ALL SELECT 'agents', s.status::text, count(a.id) FROM unnest(enum_range(NULL::agent_status)) AS s(status)
  LEFT JOIN agents a ON a.status = s.status GROUP BY s.status
UNION ALL SELECT 'refusing', NULL, count(*) FROM agents WHERE refuses IS NOT NULL AND status NOT IN ('LOST', 'TERMINATED')
UNION ALL SELECT 'queue', coalesce(hold_reason::text, 'NONE'), count(*) FROM retry_decisions
  WHERE phase IN ('SCHEDULED', 'HELD') GROUP BY hold_reason
UNION ALL SELECT 'overdue', NULL, coalesce(greatest(0, extract(epoch FROM reprise_now() - min(ready_at))), 0) FROM retry_decisions
  WHERE phase IN ('SCHEDULED', 'HELD')
UNION ALL SELECT 'webhookQueue', NULL, count(*) FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
  WHERE d.status = 'PENDING' AND w.enabled
UNION ALL SELECT 'webhookOverdue', NULL, coalesce(greatest(0, extract(epoch FROM reprise_now() - min(d.next_attempt_at))), 0)
  FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.status = 'PENDING' AND w.enabled
UNION ALL SELECT 'resubmissions', NULL, coalesce(sum(total - done - refused), 0) FROM resubmissions WHERE state = 'RUNNING'
UNION ALL SELECT 'deployments', status::text, count(*) FROM deployments WHERE status <> 'DESTROYED' GROUP BY status
UNION ALL SELECT 'routes', status::text, count(*) FROM routes WHERE status <> 'TERMINATED' GROUP BY status
UNION ALL SELECT 'missing', NULL, coalesce(sum(greatest(0, d.replicas - coalesce(h.healthy, 0))), 0)
  FROM deployments d LEFT JOIN (
    SELECT deployment_id, count(*) AS healthy FROM routes WHERE status = 'HEALTHY' GROUP BY deployment_id
  ) AS h ON h.deployment_id = d.id
  WHERE d.status NOT IN ('DESTROYING', 'DESTROYED')
UNION ALL SELECT 'decisions', phase::text, round(count(*) * 100.0 / ${SAMPLE_PERCENT}::numeric)
  FROM retry_decisions TABLESAMPLE SYSTEM (${SAMPLE_PERCENT}) GROUP BY phase`

/** @throws if the database takes longer than STATEMENT_TIMEOUT_MS */
export async function readGauges(db: Database): Promise<GaugeFigure[]> {
  return db.transaction(async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
    return (await tx.query<GaugeFigure>(READ_GAUGES)).rows
  })
}

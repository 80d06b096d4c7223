import type { Queryable } from '../../database.ts'

/** A health check that this server has to run. */
export interface DueCheck {
  routeId: string
  deploymentId: string
  host: string
  port: number
  path: string
  timeoutMs: number
}

/**
 * Claims due checks, longest overdue first: each belongs to this server until its lease ends. Those that another server
 * is claiming at this moment are skipped. Index: routes_checks.
 */
const CLAIM_SQL = `
WITH due AS (
  SELECT r.id, v.health_path, v.health_timeout_ms
  FROM routes r JOIN deployment_revisions v ON v.deployment_id = r.deployment_id AND v.revision = r.revision
  WHERE r.status IN ('HEALTHY', 'UNHEALTHY', 'DEGRADED') AND r.next_check_at <= reprise_now()
  ORDER BY r.next_check_at LIMIT $1
  FOR NO KEY UPDATE OF r SKIP LOCKED
)
UPDATE routes r SET next_check_at = reprise_now() + make_interval(secs => (due.health_timeout_ms + $2) / 1000.0)
FROM due WHERE r.id = due.id
RETURNING r.id AS "routeId", r.deployment_id AS "deploymentId", r.host, r.port, due.health_path AS path,
  due.health_timeout_ms AS "timeoutMs"`

export async function claimHealthChecks(db: Queryable, limit: number, leaseMarginMs: number): Promise<DueCheck[]> {
  return (await db.query<DueCheck>(CLAIM_SQL, [limit, leaseMarginMs])).rows
}

/** Null if there is none. Index: routes_checks. */
const NEXT_SQL = `
SELECT greatest(0, extract(epoch FROM next_check_at - reprise_now()) * 1000)::float8 AS "inMs" FROM routes
WHERE status IN ('HEALTHY', 'UNHEALTHY', 'DEGRADED') AND next_check_at IS NOT NULL ORDER BY next_check_at LIMIT 1`

export async function nextHealthCheckInMs(db: Queryable): Promise<number | null> {
  return (await db.query<{ inMs: number }>(NEXT_SQL)).rows[0]?.inMs ?? null
}

export interface CheckOutcome {
  routeId: string
  /** A description of the fault; null if the check passed. */
  fault: string | null
  /** The fraction of the interval until the next check: about 1. */
  spread: number
}

/** Records the results of checks, except for routes that are already ending. Locks: routes in id order. */
const SETTLE_SQL = `
WITH outcomes AS (
  SELECT * FROM json_to_recordset($1::json) AS o("routeId" uuid, "fault" text, "spread" float8)
), held AS (
  SELECT r.id, v.health_interval_ms, v.healthy_threshold, v.unhealthy_threshold
  FROM routes r JOIN outcomes o ON o."routeId" = r.id
  JOIN deployment_revisions v ON v.deployment_id = r.deployment_id AND v.revision = r.revision
  WHERE r.status IN ('HEALTHY', 'UNHEALTHY', 'DEGRADED')
  ORDER BY r.id FOR NO KEY UPDATE OF r
), settled AS (
  UPDATE routes r SET
    successes = CASE WHEN o."fault" IS NULL THEN r.successes + 1 ELSE 0 END,
    failures = CASE WHEN o."fault" IS NULL THEN 0 ELSE r.failures + 1 END,
    last_check_at = reprise_now(),
    last_check_fault = o."fault",
    next_check_at = reprise_now() + make_interval(secs => held.health_interval_ms * o."spread" / 1000)
  FROM held JOIN outcomes o ON o."routeId" = held.id WHERE r.id = held.id
  RETURNING (r.status <> 'HEALTHY' AND r.successes >= held.healthy_threshold
    OR r.status <> 'UNHEALTHY' AND r.failures >= held.unhealthy_threshold) AS decisive
)
SELECT coalesce(bool_or(decisive), false) AS decisive FROM settled`

/** Returns whether the results change the health of a route. */
export async function settleHealthChecks(db: Queryable, outcomes: readonly CheckOutcome[]): Promise<boolean> {
  return (await db.query<{ decisive: boolean }>(SETTLE_SQL, [JSON.stringify(outcomes)])).rows[0]!.decisive
}

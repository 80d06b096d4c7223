import type {
  DeploymentHandlerName,
  DeploymentStatus,
  RouteHandlerName,
  RouteStatus,
} from '../../../domain/deployment/lifecycle.ts'
import type { Queryable } from '../../database.ts'
import type { SessionStatus } from '../../../domain/session/lifecycle.ts'

/** A deployment that a handler has locked until its transaction ends. */
export interface ClaimedDeployment {
  id: string
  status: DeploymentStatus
  statusReason: string | null
  projectId: string
  userId: string | null
  name: string
  replicas: number
  minHealthy: number | null
  maxSurge: number | null
  revision: number
  /** Consecutive failed routes. */
  failures: number
  /** Time until the next route may be started; 0 for now. */
  nextRouteInMs: number
  /** Time from the last failure to that start. */
  backoffMs: number
  inStatusMs: number
  /** The number of live routes, and a fault of one of them; read only for handlers that need it. */
  live: number
  fault: string | null
}

const LIVE = `r.status IN ('PROVISIONING', 'DEGRADED', 'HEALTHY', 'UNHEALTHY')`

const LIVE_COUNT = `(SELECT count(*) FROM routes r WHERE r.deployment_id = d.id AND ${LIVE})`

/** Describes a live route of another revision, or one that has been unhealthy for longer than it has to recover. */
const FAULT = `(
  SELECT CASE WHEN r.revision <> d.revision THEN 'a route of revision ' || r.revision || ' is left'
    ELSE 'a route is ' || r.status END
  FROM routes r
  WHERE r.deployment_id = d.id AND ${LIVE} AND (r.revision <> d.revision
    OR r.status <> 'HEALTHY' AND r.status_changed_at < reprise_now() - (SELECT make_interval(secs => v.evict_after_ms / 1000.0)
      FROM deployment_revisions v WHERE v.deployment_id = r.deployment_id AND v.revision = r.revision))
  LIMIT 1)`

/**
 * Facts that a handler reads beyond the status, and the condition under which a deployment needs the handler; others
 * are not claimed.
 */
const ASKED: Readonly<Partial<Record<DeploymentHandlerName, { live?: string; fault?: string; need: string }>>> = {
  'check-replica-deployment': { live: LIVE_COUNT, need: `${LIVE_COUNT} <> d.replicas` },
  'reconcile-deployment': { fault: FAULT, need: `${FAULT} IS NOT NULL` },
}

/**
 * Claims deployments for one handler, in id order after the last one of the previous batch, so that deployments that
 * wait for long do not block others. Those locked by another server are skipped. Indexes: deployments_active,
 * routes_of_deployment.
 */
function statementFor(handler: DeploymentHandlerName): string {
  const { live = '0', fault = 'NULL', need = 'true' } = ASKED[handler] ?? {}
  return `
SELECT d.id, d.status, d.status_reason AS "statusReason", d.project_id AS "projectId", d.user_id AS "userId", d.name,
  d.replicas, d.min_healthy AS "minHealthy", d.max_surge AS "maxSurge", d.revision, d.failures,
  greatest(0, ceil(extract(epoch FROM coalesce(d.next_route_at, reprise_now()) - reprise_now()) * 1000))::float8 AS "nextRouteInMs",
  (extract(epoch FROM d.next_route_at - d.failed_at) * 1000)::float8 AS "backoffMs",
  (extract(epoch FROM reprise_now() - d.status_changed_at) * 1000)::float8 AS "inStatusMs",
  ${live} AS live, ${fault} AS fault
FROM deployments d
WHERE d.status = ANY($1::deployment_status[]) AND d.id > $2 AND ${need}
ORDER BY d.id LIMIT $3
FOR NO KEY UPDATE OF d SKIP LOCKED`
}

export async function claimDeployments(
  tx: Queryable,
  handler: { name: DeploymentHandlerName; statusIn: readonly DeploymentStatus[] },
  page: { after: string; limit: number },
): Promise<ClaimedDeployment[]> {
  const values = [handler.statusIn, page.after, page.limit]
  return (await tx.query<ClaimedDeployment>(statementFor(handler.name), values)).rows
}

/** A route that a handler has locked until its transaction ends, with the facts that the handler needs. */
export interface ClaimedRoute {
  id: string
  deploymentId: string
  status: RouteStatus
  statusReason: string | null
  sessionId: string
  sessionStatus: SessionStatus
  /** The reason for the session's status, or for its wait. */
  sessionReason: string | null
  /** The address of its agent; null while it has none. */
  host: string | null
  /** The port reported by its agent; null before that. */
  port: number | null
  successes: number
  failures: number
  lastCheckFault: string | null
  healthyThreshold: number
  unhealthyThreshold: number
  stale: boolean
  startTimeoutMs: number
  evictAfterMs: number
  /** Time until the first health check. */
  firstCheckInMs: number
}

/**
 * True if the last check is too old to count. A server that has just started gives each route its full age again,
 * because there may have been no server to check it.
 */
const STALE = `(v.stale_after_ms <= $3
  AND coalesce(r.last_check_at, r.status_changed_at) < reprise_now() - make_interval(secs => v.stale_after_ms / 1000.0))`

const OVER = `s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')`

const START_TIMED_OUT = `r.created_at < reprise_now() - make_interval(secs => v.start_timeout_ms / 1000.0)`

/** The condition under which a handler has work for a route in its statuses. */
const DUE: Readonly<Record<RouteHandlerName, string>> = {
  'provisioning-route': `(s.status = 'RUNNING' AND k.port IS NOT NULL OR s.status = 'TERMINATING' OR ${OVER}
    OR ${START_TIMED_OUT})`,
  'health-check-route': `(CASE WHEN ${STALE} THEN r.status <> 'DEGRADED'
    ELSE r.status <> 'HEALTHY' AND r.successes >= v.healthy_threshold
      OR r.status <> 'UNHEALTHY' AND r.failures >= v.unhealthy_threshold END)`,
  'running-route': `(r.status = 'FAILED_TO_START' OR s.status <> 'RUNNING'
    OR r.first_healthy_at IS NULL AND ${START_TIMED_OUT})`,
  'route-eviction': `r.status_changed_at <= reprise_now() - make_interval(secs => v.evict_after_ms / 1000.0)`,
  // A route that never received traffic, or that no longer runs, needs no time to drain.
  'terminating-route': `(${OVER} OR s.status <> 'TERMINATING' AND (r.first_healthy_at IS NULL OR s.status <> 'RUNNING'
    OR r.status_changed_at <= reprise_now() - make_interval(secs => v.drain_ms / 1000.0)))`,
  'service-discovery-sync': 'r.published_at IS NULL',
}

/**
 * Claims routes for one handler, longest in their status first. Routes that another transaction has locked are skipped.
 * A route's session, kernel and revision are found by key, however many others exist: LIMIT 1 keeps the planner from
 * merging the subqueries into joins. With 4,000 routes that need nothing, a pass takes about 10 ms. Indexes:
 * routes_active, routes_checks, the primary keys.
 */
function claimRoutesStatement(handler: RouteHandlerName): string {
  return `
SELECT r.id, r.deployment_id AS "deploymentId", r.status, r.status_reason AS "statusReason", r.session_id AS "sessionId",
  s.status AS "sessionStatus", coalesce(s.status_reason, s.pending_reason) AS "sessionReason", a.address AS host, k.port,
  r.successes, r.failures, r.last_check_fault AS "lastCheckFault", v.healthy_threshold AS "healthyThreshold",
  v.unhealthy_threshold AS "unhealthyThreshold", ${STALE} AS stale, v.start_timeout_ms AS "startTimeoutMs",
  v.evict_after_ms AS "evictAfterMs",
  greatest(0, v.initial_delay_ms - extract(epoch FROM reprise_now() - k.started_at) * 1000)::float8 AS "firstCheckInMs"
FROM routes r
CROSS JOIN LATERAL (SELECT * FROM deployment_revisions
  WHERE deployment_id = r.deployment_id AND revision = r.revision LIMIT 1) AS v
CROSS JOIN LATERAL (SELECT status, status_reason, pending_reason FROM sessions WHERE id = r.session_id LIMIT 1) AS s
LEFT JOIN LATERAL (SELECT port, started_at, agent_id FROM kernels
  WHERE session_id = r.session_id AND role = 'main' LIMIT 1) AS k ON true
LEFT JOIN agents a ON a.id = k.agent_id
WHERE r.status = ANY($1::route_status[]) AND ${DUE[handler]}
ORDER BY r.status_changed_at LIMIT $2
FOR NO KEY UPDATE OF r SKIP LOCKED`
}

/** Claims routes. `watchedMs` is the time for which this server has been running checks. */
export async function claimRoutes(
  tx: Queryable,
  handler: { name: RouteHandlerName; statusIn: readonly RouteStatus[] },
  { limit, watchedMs }: { limit: number; watchedMs: number },
): Promise<ClaimedRoute[]> {
  const values = [handler.statusIn, limit, Math.floor(watchedMs)]
  return (await tx.query<ClaimedRoute>(claimRoutesStatement(handler.name), values)).rows
}

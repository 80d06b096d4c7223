import type {
  DeclaredMove,
  DeploymentResult,
  DeploymentStatus,
  RouteResult,
  RouteStatus,
} from '../../../domain/deployment/lifecycle.ts'
import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'
import { recordHistory } from '../session/scheduling-history.sql.ts'

export type DeploymentMove = DeclaredMove<DeploymentStatus, DeploymentResult>

/** Moves deployments, with events and history: one statement per batch. The caller has locked the deployments. */
const APPLY_DEPLOYMENT_MOVES_SQL = `
WITH moves AS (
  SELECT * FROM json_to_recordset($1::json) AS m(
    "id" uuid, "from" deployment_status, "to" deployment_status, "outcome" scheduling_result, "message" text)
), moved AS (
  UPDATE deployments d SET
    status = m."to",
    status_changed_at = CASE WHEN m."to" = m."from" THEN d.status_changed_at ELSE reprise_now() END,
    status_reason = CASE WHEN m."to" <> 'READY' THEN m."message" END,
    destroyed_at = CASE WHEN m."to" = 'DESTROYED' THEN reprise_now() END
  FROM moves m WHERE d.id = m."id" AND d.status = m."from"
  RETURNING d.id, d.project_id, m."from", m."to", m."outcome", m."message", NULL::text AS "errorCode"
), events AS (
  INSERT INTO session_events (type, deployment_id, project_id, data)
  SELECT CASE "to" WHEN 'DESTROYED' THEN 'deployment.destroyed' ELSE 'deployment.status_changed' END, id, project_id,
    ${eventData<DeploymentEventData['deployment.status_changed']>({ from: '"from"', to: '"to"', reason: '"message"' })}
  FROM moved WHERE "to" <> "from"
), ${recordHistory('DEPLOYMENT', { phase: '$2' })}
SELECT id FROM moved`

export async function applyDeploymentMoves(
  tx: Queryable,
  phase: string,
  moves: readonly DeploymentMove[],
): Promise<void> {
  if (moves.length > 0) await tx.query(APPLY_DEPLOYMENT_MOVES_SQL, [JSON.stringify(moves), phase])
}

export interface RouteMove extends DeclaredMove<RouteStatus, RouteResult> {
  /** The address at which the route serves, known when it leaves PROVISIONING. */
  endpoint?: { host: string; port: number; firstCheckInMs: number }
  /** Whether service discovery lists the route from now on. */
  publish?: boolean
}

/** A route that was moved. */
export interface MovedRoute {
  id: string
  deploymentId: string
  revision: number
  sessionId: string
  createdAt: Date
  from: RouteStatus
  to: RouteStatus
  /** Whether it has been healthy long enough to count as a lasting success. */
  lasted: boolean
}

const ROUTE_MOVED = eventData<DeploymentEventData['route.status_changed']>({
  from: '"from"',
  to: '"to"',
  reason: 'v.status_reason',
  sessionId: 'v.session_id',
  revision: 'v.revision',
  host: 'v.host',
  port: 'v.port',
})

/**
 * Moves routes, with events and history: one statement per batch. Routes that leave HEALTHY leave service discovery;
 * routes that are ending are no longer checked. Routes locked by another transaction, which has claimed them for a
 * handler, are skipped. Locks: routes in id order.
 */
const APPLY_ROUTE_MOVES_SQL = `
WITH moves AS (
  SELECT * FROM json_to_recordset($1::json) AS m(
    "id" uuid, "from" route_status, "to" route_status, "outcome" scheduling_result, "message" text, "endpoint" jsonb,
    "publish" bool)
), held AS (
  SELECT r.id FROM routes r JOIN moves m ON m."id" = r.id AND m."from" = r.status
  ORDER BY r.id FOR NO KEY UPDATE OF r SKIP LOCKED
), moved AS (
  UPDATE routes r SET
    status = m."to",
    status_changed_at = CASE WHEN m."to" = m."from" THEN r.status_changed_at ELSE reprise_now() END,
    status_reason = CASE WHEN m."to" <> 'HEALTHY' THEN m."message" END,
    host = coalesce(m."endpoint" ->> 'host', r.host),
    port = coalesce((m."endpoint" ->> 'port')::int, r.port),
    -- Check results that are too old do not count.
    successes = CASE WHEN m."outcome" = 'STALE' THEN 0 ELSE r.successes END,
    failures = CASE WHEN m."outcome" = 'STALE' THEN 0 ELSE r.failures END,
    next_check_at = CASE WHEN m."to" IN ('FAILED_TO_START', 'TERMINATING', 'TERMINATED') THEN NULL
      WHEN m."endpoint" IS NULL THEN r.next_check_at
      ELSE reprise_now() + make_interval(secs => (m."endpoint" ->> 'firstCheckInMs')::float8 / 1000) END,
    first_healthy_at = CASE WHEN m."to" = 'HEALTHY' THEN coalesce(r.first_healthy_at, reprise_now()) ELSE r.first_healthy_at END,
    published_at = CASE WHEN m."to" = 'HEALTHY' THEN CASE WHEN m."publish" THEN reprise_now() ELSE r.published_at END END,
    terminated_at = CASE WHEN m."to" = 'TERMINATED' THEN reprise_now() END
  FROM moves m JOIN held USING (id) WHERE r.id = m."id"
  RETURNING r.id, r.deployment_id, r.revision, r.session_id, r.host, r.port, r.created_at, r.status_reason,
    r.first_healthy_at <= reprise_now() - make_interval(secs => $3 / 1000.0) IS TRUE AS lasted,
    m."from", m."to", m."outcome", m."message", NULL::text AS "errorCode"
), events AS (
  INSERT INTO session_events (type, deployment_id, route_id, project_id, data)
  SELECT 'route.status_changed', d.id, v.id, d.project_id, ${ROUTE_MOVED}
  FROM moved v JOIN deployments d ON d.id = v.deployment_id WHERE "to" <> "from"
), ${recordHistory('ROUTE', { phase: '$2' })}
SELECT id, deployment_id AS "deploymentId", revision, session_id AS "sessionId", created_at AS "createdAt", "from", "to",
  lasted FROM moved`

/** Returns the routes that moved. */
export async function applyRouteMoves(
  tx: Queryable,
  phase: string,
  moves: readonly RouteMove[],
  lastingMs: number,
): Promise<MovedRoute[]> {
  if (moves.length === 0) return []
  return (await tx.query<MovedRoute>(APPLY_ROUTE_MOVES_SQL, [JSON.stringify(moves), phase, lastingMs])).rows
}

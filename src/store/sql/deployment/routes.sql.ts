import type { RouteStatus } from '../../../domain/deployment/lifecycle.ts'
import type { Queryable } from '../../database.ts'
import type { DeploymentEventData } from '../../../domain/events.ts'
import { eventData } from '../event/event-data.sql.ts'
import type { Service } from '../../../domain/deployment/discovery.ts'

export interface RouteRow {
  id: string
  deploymentId: string
  revision: number
  sessionId: string
  status: RouteStatus
  statusReason: string | null
  host: string | null
  port: number | null
  successes: number
  failures: number
  lastCheckAt: Date | null
  lastCheckFault: string | null
  nextCheckAt: Date | null
  publishedAt: Date | null
  firstHealthyAt: Date | null
  createdAt: Date
  statusChangedAt: Date
  terminatedAt: Date | null
}

const COLUMNS = `r.id, r.deployment_id AS "deploymentId", r.revision, r.session_id AS "sessionId", r.status,
  r.status_reason AS "statusReason", r.host, r.port, r.successes, r.failures, r.last_check_at AS "lastCheckAt",
  r.last_check_fault AS "lastCheckFault", r.next_check_at AS "nextCheckAt", r.published_at AS "publishedAt",
  r.first_healthy_at AS "firstHealthyAt", r.created_at AS "createdAt", r.status_changed_at AS "statusChangedAt",
  r.terminated_at AS "terminatedAt"`

const BY_ID_SQL = `
SELECT ${COLUMNS} FROM routes r JOIN deployments d ON d.id = r.deployment_id
WHERE r.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR d.project_id = $2)`

const BY_SESSION_SQL = `
SELECT ${COLUMNS} FROM routes r JOIN deployments d ON d.id = r.deployment_id
WHERE r.session_id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR d.project_id = $2)`

/** Reads routes that the viewer may see, unordered, by their ids or by those of their sessions. */
export async function readRoutes(
  db: Queryable,
  by: 'id' | 'sessionId',
  ids: readonly string[],
  visibleProjectId: string | null,
): Promise<RouteRow[]> {
  const sql = by === 'id' ? BY_ID_SQL : BY_SESSION_SQL
  return (await db.query<RouteRow>(sql, [ids, visibleProjectId])).rows
}

/** Selects the routes of one deployment in these statuses, or in all statuses if the list is empty. */
export interface RouteList {
  deploymentId: string
  statuses: readonly RouteStatus[]
}

/** The route after which a page begins. */
export interface RoutePlace {
  createdAt: Date
  id: string
}

const LISTS = `unnest($1::uuid[], $2::text[]) AS list(deployment_id, statuses)`
const IN_LIST = `r.deployment_id = list.deployment_id
  AND (list.statuses = '' OR r.status::text = ANY(string_to_array(list.statuses, ',')))`

/** Reads one page per list, newest first. Index: routes(deployment_id, created_at, id). */
const PAGES_SQL = `
SELECT ${COLUMNS}, r.statuses AS "listStatuses" FROM ${LISTS} CROSS JOIN LATERAL (
  SELECT r.*, list.statuses FROM routes r
  WHERE ${IN_LIST} AND ($3::timestamptz IS NULL OR (r.created_at, r.id) < ($3, $4::uuid))
  ORDER BY r.created_at DESC, r.id DESC LIMIT $5
) r ORDER BY r.deployment_id, r.created_at DESC, r.id DESC`

export type ListedRoute = RouteRow & { listStatuses: string }

export async function readRoutePages(
  db: Queryable,
  lists: readonly RouteList[],
  after: RoutePlace | null,
  limit: number,
): Promise<ListedRoute[]> {
  const values = [...listValues(lists), after?.createdAt ?? null, after?.id ?? null, limit]
  return (await db.query<ListedRoute>(PAGES_SQL, values)).rows
}

const COUNT_SQL = `
SELECT list.deployment_id AS "deploymentId", list.statuses AS "listStatuses",
  (SELECT count(*) FROM routes r WHERE ${IN_LIST}) AS count
FROM ${LISTS}`

export async function countRoutesOfLists(
  db: Queryable,
  lists: readonly RouteList[],
): Promise<{ deploymentId: string; listStatuses: string; count: number }[]> {
  return (await db.query<{ deploymentId: string; listStatuses: string; count: number }>(COUNT_SQL, listValues(lists)))
    .rows
}

function listValues(lists: readonly RouteList[]): unknown[] {
  return [lists.map(({ deploymentId }) => deploymentId), lists.map(({ statuses }) => statuses.join())]
}

export interface RouteCountRow {
  deploymentId: string
  status: RouteStatus
  count: number
  /** The number of these routes that have the deployment's present revision. */
  present: number
}

/** Index: routes(deployment_id, …). */
const COUNT_ROUTES_SQL = `
SELECT r.deployment_id AS "deploymentId", r.status, count(*) AS count,
  count(*) FILTER (WHERE r.revision = d.revision) AS present
FROM routes r JOIN deployments d ON d.id = r.deployment_id
WHERE r.deployment_id = ANY($1::uuid[]) GROUP BY r.deployment_id, r.status ORDER BY r.deployment_id, r.status`

export async function countRoutes(db: Queryable, deploymentIds: readonly string[]): Promise<RouteCountRow[]> {
  return (await db.query<RouteCountRow>(COUNT_ROUTES_SQL, [deploymentIds])).rows
}

/** A route that service discovery lists. */
export interface EndpointRow {
  routeId: string
  deploymentId: string
  host: string
  port: number
  /** The route's session. */
  sessionId: string
  revision: number
  publishedAt: Date
}

const ENDPOINT_COLUMNS = `r.id AS "routeId", r.deployment_id AS "deploymentId", r.host, r.port, r.session_id AS "sessionId",
  r.revision, r.published_at AS "publishedAt"`

/** Reads endpoints, oldest first. Index: routes_of_deployment. */
const READ_ENDPOINTS_SQL = `
SELECT ${ENDPOINT_COLUMNS} FROM routes r
WHERE r.deployment_id = ANY($1::uuid[]) AND r.published_at IS NOT NULL AND r.status <> 'TERMINATED'
ORDER BY r.deployment_id, r.published_at, r.id`

export async function readEndpoints(db: Queryable, deploymentIds: readonly string[]): Promise<EndpointRow[]> {
  return (await db.query<EndpointRow>(READ_ENDPOINTS_SQL, [deploymentIds])).rows
}

export interface DeploymentRoute {
  id: string
  deploymentId: string
  revision: number
  status: RouteStatus
  wasHealthy: boolean
}

/** Reads all routes that have not ended. Index: routes_of_deployment. */
const READ_ROUTES_OF_SQL = `
SELECT id, deployment_id AS "deploymentId", revision, status, first_healthy_at IS NOT NULL AS "wasHealthy"
FROM routes WHERE deployment_id = ANY($1::uuid[]) AND status <> 'TERMINATED'`

/** Reads the routes of deployments. While the caller has the deployments locked, no route is added. */
export async function readRoutesOf(
  tx: Queryable,
  deploymentIds: readonly string[],
): Promise<Map<string, DeploymentRoute[]>> {
  const { rows } = await tx.query<DeploymentRoute>(READ_ROUTES_OF_SQL, [deploymentIds])
  return Map.groupBy(rows, ({ deploymentId }) => deploymentId)
}

export interface NewRoute {
  id: string
  deploymentId: string
  revision: number
  sessionId: string
}

const ROUTE_CREATED = eventData<DeploymentEventData['route.status_changed']>({
  from: 'NULL',
  to: `'PROVISIONING'`,
  reason: 'NULL',
  sessionId: 'i.session_id',
  revision: 'i.revision',
  host: 'NULL',
  port: 'NULL',
})

/** Inserts routes for existing sessions, with event and history. The caller has locked their deployments. */
const SQL = `
WITH inserted AS (
  INSERT INTO routes (id, deployment_id, revision, session_id)
  SELECT "id", "deploymentId", "revision", "sessionId" FROM json_to_recordset($1::json) AS i(
    "id" uuid, "deploymentId" uuid, "revision" int, "sessionId" uuid)
  RETURNING id, deployment_id, revision, session_id
), events AS (
  INSERT INTO session_events (type, deployment_id, route_id, project_id, data)
  SELECT 'route.status_changed', d.id, i.id, d.project_id, ${ROUTE_CREATED}
  FROM inserted i JOIN deployments d ON d.id = i.deployment_id
)
INSERT INTO scheduling_history (entity, entity_id, phase, to_status, result)
SELECT 'ROUTE', id, $2, 'PROVISIONING', 'SUCCESS' FROM inserted`

export async function insertRoutes(tx: Queryable, phase: string, routes: readonly NewRoute[]): Promise<void> {
  if (routes.length > 0) await tx.query(SQL, [JSON.stringify(routes), phase])
}

/** Locks: deployments in id order. No holder of a deployment's lock waits for a route. */
const LOCK_SQL = `
SELECT id, revision, failures, failed_at AS "failedAt" FROM deployments
WHERE id = ANY($1::uuid[]) AND status <> 'DESTROYED' ORDER BY id FOR NO KEY UPDATE`

interface FailureCount {
  id: string
  revision: number
  failures: number
  failedAt: Date | null
}

export async function lockFailureCounts(tx: Queryable, deploymentIds: readonly string[]): Promise<FailureCount[]> {
  return (await tx.query<FailureCount>(LOCK_SQL, [deploymentIds])).rows
}

const COUNT_ROUTE_FAILURES = `
UPDATE deployments d SET failures = d.failures + 1, failed_at = reprise_now(),
  next_route_at = reprise_now() + make_interval(secs => c."delayMs" / 1000)
FROM json_to_recordset($1::json) AS c("id" uuid, "delayMs" float8) WHERE d.id = c."id"`

export async function recordFailures(tx: Queryable, counts: readonly { id: string; delayMs: number }[]): Promise<void> {
  await tx.query(COUNT_ROUTE_FAILURES, [JSON.stringify(counts)])
}

/**
 * Resets the failure count of a deployment if a route that was started after the last failure has stayed healthy long
 * enough. Index: deployments_active.
 */
const FORGET_SQL = `
WITH over AS (
  SELECT d.id FROM deployments d
  WHERE d.status <> 'DESTROYED' AND d.failures > 0 AND EXISTS (SELECT FROM routes r
    WHERE r.deployment_id = d.id AND r.status = 'HEALTHY' AND r.revision = d.revision AND r.created_at > d.failed_at
      AND r.first_healthy_at <= reprise_now() - make_interval(secs => $1 / 1000.0))
  FOR NO KEY UPDATE OF d SKIP LOCKED
)
UPDATE deployments d SET failures = 0, failed_at = NULL, next_route_at = NULL FROM over WHERE d.id = over.id`

export async function resetFailures(db: Queryable, lastingMs: number): Promise<void> {
  await db.query(FORGET_SQL, [lastingMs])
}

/**
 * Reads all deployments that are not being destroyed, with their published endpoints, in one snapshot and in a stable
 * order: project, name, endpoint. Indexes: deployments_name, routes_of_deployment.
 */
const READ_SERVICES = `
SELECT d.id AS "deploymentId", d.name, p.name AS project, v.labels,
  coalesce((
    SELECT json_agg(json_build_object('routeId', r.id, 'host', r.host, 'port', r.port,
      'sessionId', r.session_id, 'revision', r.revision) ORDER BY r.published_at, r.id)
    FROM routes r WHERE r.deployment_id = d.id AND r.published_at IS NOT NULL AND r.status <> 'TERMINATED'
  ), '[]') AS endpoints
FROM deployments d JOIN projects p ON p.id = d.project_id
JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = d.revision
WHERE d.status NOT IN ('DESTROYING', 'DESTROYED') AND ($1::uuid IS NULL OR d.project_id = $1)
ORDER BY p.name COLLATE "C", d.name COLLATE "C"`

/** Reads the services of one project, or of all. */
export async function readServices(db: Queryable, visibleProjectId: string | null): Promise<Service[]> {
  const { rows } = await db.query<Service>(READ_SERVICES, [visibleProjectId])
  return rows
}

import type { RouteStatus } from '../../../domain/deployment/statuses.ts'
import type { Queryable } from '../../database.ts'

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

/** The routes that the viewer may see, unordered, by their ids or by those of their sessions. */
export async function readRoutes(
  db: Queryable,
  by: 'id' | 'sessionId',
  ids: readonly string[],
  visibleProjectId: string | null,
): Promise<RouteRow[]> {
  const sql = by === 'id' ? BY_ID_SQL : BY_SESSION_SQL
  return (await db.query<RouteRow>(sql, [ids, visibleProjectId])).rows
}

/** The routes of one deployment in these statuses, or in all statuses if the list is empty. */
export interface RouteList {
  deploymentId: string
  statuses: readonly RouteStatus[]
}

/** A page begins after this route. */
export interface RoutePlace {
  createdAt: Date
  id: string
}

const LISTS = `unnest($1::uuid[], $2::text[]) AS list(deployment_id, statuses)`
const IN_LIST = `r.deployment_id = list.deployment_id
  AND (list.statuses = '' OR r.status::text = ANY(string_to_array(list.statuses, ',')))`

/** One page per list, newest first. Index: routes(deployment_id, created_at, id). */
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
  /** Of these, the routes of the deployment's present revision. */
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

/** Oldest first. Index: routes_of_deployment. */
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

/** All routes that are not over. Index: routes_of_deployment. */
const READ_ROUTES_OF_SQL = `
SELECT id, deployment_id AS "deploymentId", revision, status, first_healthy_at IS NOT NULL AS "wasHealthy"
FROM routes WHERE deployment_id = ANY($1::uuid[]) AND status <> 'TERMINATED'`

/** Routes by deployment. While the caller holds the deployments, no route is added. */
export async function readRoutesOf(
  tx: Queryable,
  deploymentIds: readonly string[],
): Promise<Map<string, DeploymentRoute[]>> {
  const { rows } = await tx.query<DeploymentRoute>(READ_ROUTES_OF_SQL, [deploymentIds])
  return Map.groupBy(rows, ({ deploymentId }) => deploymentId)
}

import {
  countRoutesOfLists,
  readRoutePages,
  readRoutes as read,
  type ListedRoute,
  type RouteList,
  type RoutePlace,
  type RouteRow,
} from '../../store/sql/deployment/read-routes.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { RouteList, RoutePlace, RouteRow }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** Those that the viewer sees, in no order. */
export function readRoutes(
  { db, viewer }: Reader,
  by: 'id' | 'sessionId',
  ids: readonly string[],
): Promise<RouteRow[]> {
  return read(db, by, ids, viewer.projectId)
}

/** Key of a list: equal for the same deployment and statuses. */
export function routeListKey({ deploymentId, statuses }: RouteList): string {
  return `${deploymentId}/${statuses.join()}`
}

/** Newest first, by `routeListKey`. The caller has checked that the viewer may see the deployments. */
export async function listRoutes(
  { db }: Pick<Reader, 'db'>,
  lists: readonly RouteList[],
  { after, limit }: { after: RoutePlace | null; limit: number },
): Promise<Map<string, RouteRow[]>> {
  return Map.groupBy(await readRoutePages(db, lists, after, limit), keyOf)
}

/** By `routeListKey`. */
export async function countListedRoutes(
  { db }: Pick<Reader, 'db'>,
  lists: readonly RouteList[],
): Promise<Map<string, number>> {
  const rows = await countRoutesOfLists(db, lists)
  return new Map(rows.map((row) => [keyOf(row), row.count]))
}

function keyOf({ deploymentId, listStatuses }: Pick<ListedRoute, 'deploymentId' | 'listStatuses'>): string {
  return `${deploymentId}/${listStatuses}`
}

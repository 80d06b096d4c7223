import DataLoader from 'dataloader'
import {
  readDeployments,
  readEndpoints,
  readRevisionPages,
  readRevisions,
  readRouteCounts,
  type DeploymentRecord,
  type EndpointRow,
  type RevisionKey,
  type RevisionRow,
  type RouteCountRow,
} from '../services/read-deployments.ts'
import {
  countListedRoutes,
  listRoutes,
  readRoutes,
  routeListKey,
  type RouteList,
  type RoutePlace,
  type RouteRow,
} from '../services/read-routes.ts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import type { ServiceContext } from '../services/service-context.ts'
import { manyLoader, pageLoader, type PageLoader } from './page-loader.ts'

/** One statement each for all that ask in the same tick; what is another's is not found. */
export interface DeploymentLoaders {
  /** Undefined where the viewer has no such deployment. */
  deployments: DataLoader<string, DeploymentRecord | undefined>
  revisions: DataLoader<RevisionKey, RevisionRow, string>
  revisionPages: PageLoader<RevisionRow>
  routeCounts: DataLoader<string, RouteCountRow[]>
  endpoints: DataLoader<string, EndpointRow[]>
  /** Undefined where the viewer has no such route. */
  routes: DataLoader<string, RouteRow | undefined>
  /** By session; undefined where it is of no deployment. */
  routeOfSession: DataLoader<string, RouteRow | undefined>
  routePages: DataLoader<RoutePageRequest, RouteRow[], string>
  routeListCount: DataLoader<RouteList, number, string>
}

export interface RoutePageRequest extends RouteList {
  after: RoutePlace | null
  limit: number
}

export function createDeploymentLoaders(
  reader: Pick<ServiceContext, 'db' | 'viewer'> & { prisma: PrismaClient },
): DeploymentLoaders {
  const keyOf = ({ deploymentId, revision }: RevisionKey) => `${deploymentId}/${revision}`
  const sizeOf = ({ after, limit }: RoutePageRequest) => `${after?.createdAt.getTime()}/${after?.id}/${limit}`
  const routesBy = (by: 'id' | 'sessionId') =>
    new DataLoader(async (ids: readonly string[]) => {
      const rows = new Map((await readRoutes(reader, by, ids)).map((row) => [row[by], row]))
      return ids.map((id) => rows.get(id))
    })
  return {
    deployments: new DataLoader(async (ids) => {
      const rows = new Map((await readDeployments(reader, ids)).map((row) => [row.id, row]))
      return ids.map((id) => rows.get(id))
    }),
    revisions: new DataLoader(
      async (keys) => {
        const rows = new Map((await readRevisions(reader, keys)).map((row) => [keyOf(row), row]))
        return keys.map((key) => rows.get(keyOf(key)) ?? new Error(`no revision ${keyOf(key)}`))
      },
      { cacheKeyFn: keyOf },
    ),
    revisionPages: pageLoader(
      (deploymentIds, after, limit) => readRevisionPages(reader, { deploymentIds, after, limit }),
      (row) => row.deploymentId,
    ),
    routeCounts: manyLoader(
      (ids) => readRouteCounts(reader, ids),
      (row) => row.deploymentId,
    ),
    endpoints: manyLoader(
      (ids) => readEndpoints(reader, ids),
      (row) => row.deploymentId,
    ),
    routes: routesBy('id'),
    routeOfSession: routesBy('sessionId'),
    routePages: new DataLoader(
      async (requests) => {
        const groups = [...Map.groupBy(requests, sizeOf)]
        const pages = await Promise.all(
          groups.map(async ([size, group]) => [size, await listRoutes(reader, group, group[0]!)] as const),
        )
        const found = new Map(pages)
        return requests.map((request) => found.get(sizeOf(request))?.get(routeListKey(request)) ?? [])
      },
      { cacheKeyFn: (request) => `${routeListKey(request)}/${sizeOf(request)}` },
    ),
    routeListCount: new DataLoader(
      async (lists) => {
        const counts = await countListedRoutes(reader, lists)
        return lists.map((list) => counts.get(routeListKey(list)) ?? 0)
      },
      { cacheKeyFn: routeListKey },
    ),
  }
}

import DataLoader from 'dataloader'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import {
  countListedRoutes,
  countRevisions,
  type DeploymentRecord,
  type EndpointRow,
  listRoutes,
  readDeployments,
  readEndpoints,
  readRevisionPages,
  readRevisions,
  readRouteCounts,
  readRoutes,
  type RevisionKey,
  type RevisionRow,
  type RouteCountRow,
  type RouteList,
  routeListKey,
  type RoutePlace,
  type RouteRow,
} from '../../services/deployment/read-deployments.ts'
import type { ServiceContext } from '../../services/service-context.ts'
import { countLoader, type Makers, manyLoader, pageLoader, type PageLoader } from './loader-kinds.ts'

/**
 * Loaders for deployments: each reads with one statement for all keys of the same tick. Objects of other projects are
 * not found.
 */
export interface DeploymentLoaders {
  /** Deployments by id; undefined if the viewer sees no such deployment. */
  deployments: DataLoader<string, DeploymentRecord | undefined>
  revisions: DataLoader<RevisionKey, RevisionRow, string>
  revisionPages: PageLoader<RevisionRow>
  revisionCount: DataLoader<string, number>
  routeCounts: DataLoader<string, RouteCountRow[]>
  endpoints: DataLoader<string, EndpointRow[]>
  /** Routes by id; undefined if the viewer sees no such route. */
  routes: DataLoader<string, RouteRow | undefined>
  /** Keyed by session; undefined if the session belongs to no deployment. */
  routeOfSession: DataLoader<string, RouteRow | undefined>
  routePages: DataLoader<RoutePageRequest, RouteRow[], string>
  routeListCount: DataLoader<RouteList, number, string>
}

export interface RoutePageRequest extends RouteList {
  after: RoutePlace | null
  limit: number
}

type Source = Pick<ServiceContext, 'db' | 'viewer'> & { prisma: PrismaClient }

export const deploymentLoaders: Makers<Source, DeploymentLoaders> = {
  deployments: (source) =>
    new DataLoader(async (ids) => {
      const rows = new Map((await readDeployments(source, ids)).map((row) => [row.id, row]))
      return ids.map((id) => rows.get(id))
    }),
  revisions: (source) =>
    new DataLoader(
      async (keys) => {
        const rows = new Map((await readRevisions(source, keys)).map((row) => [keyOf(row), row]))
        return keys.map((key) => rows.get(keyOf(key)) ?? new Error(`no revision ${keyOf(key)}`))
      },
      { cacheKeyFn: keyOf },
    ),
  revisionPages: (source) =>
    pageLoader(
      (deploymentIds, after, limit, end) => readRevisionPages(source, { deploymentIds, after, limit, ...end }),
      (row) => row.deploymentId,
    ),
  revisionCount: (source) => countLoader((ids) => countRevisions(source, ids)),
  routeCounts: (source) =>
    manyLoader(
      (ids) => readRouteCounts(source, ids),
      (row) => row.deploymentId,
    ),
  endpoints: (source) =>
    manyLoader(
      (ids) => readEndpoints(source, ids),
      (row) => row.deploymentId,
    ),
  routes: (source) => routesBy(source, 'id'),
  routeOfSession: (source) => routesBy(source, 'sessionId'),
  routePages: (source) =>
    new DataLoader(
      async (requests) => {
        const groups = [...Map.groupBy(requests, sizeOf)]
        const pages = await Promise.all(
          groups.map(async ([size, group]) => [size, await listRoutes(source, group, group[0]!)] as const),
        )
        const found = new Map(pages)
        return requests.map((request) => found.get(sizeOf(request))?.get(routeListKey(request)) ?? [])
      },
      { cacheKeyFn: (request) => `${routeListKey(request)}/${sizeOf(request)}` },
    ),
  routeListCount: (source) =>
    new DataLoader(
      async (lists) => {
        const counts = await countListedRoutes(source, lists)
        return lists.map((list) => counts.get(routeListKey(list)) ?? 0)
      },
      { cacheKeyFn: routeListKey },
    ),
}

function keyOf({ deploymentId, revision }: RevisionKey): string {
  return `${deploymentId}/${revision}`
}

function sizeOf({ after, limit }: RoutePageRequest): string {
  return `${after?.createdAt.getTime()}/${after?.id}/${limit}`
}

function routesBy(source: Source, by: 'id' | 'sessionId'): DataLoader<string, RouteRow | undefined> {
  return new DataLoader(async (ids: readonly string[]) => {
    const rows = new Map((await readRoutes(source, by, ids)).map((row) => [row[by], row]))
    return ids.map((id) => rows.get(id))
  })
}

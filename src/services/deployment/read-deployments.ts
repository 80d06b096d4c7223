import type { DeploymentStatus } from '../../domain/deployment/lifecycle.ts'
import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import type { Prisma, PrismaClient } from '../../store/prisma.ts'
import {
  countRevisions as countByDeployment,
  readRevisions as readByKey,
  readRevisionPages as readPages,
  type RevisionKey,
  type RevisionRow,
} from '../../store/sql/deployment/revisions.sql.ts'
import {
  countRoutes,
  countRoutesOfLists,
  type EndpointRow,
  type ListedRoute,
  readEndpoints as read,
  readRoutePages,
  readRoutes as readRouteRows,
  readServices,
  type RouteCountRow,
  type RouteList,
  type RoutePlace,
  type RouteRow,
} from '../../store/sql/deployment/routes.sql.ts'
import type { SerialWindow } from '../../store/sql/session/scheduling-history.sql.ts'
import { keysetPage, NEWEST_FIRST, type OrderColumn, type Page, type PageArguments } from '../paging.ts'
import type { ServiceContext } from '../service-context.ts'
import type { TimeFilterInput } from '../session/session-where.ts'
import { idsBeginningWith, nameWhere, type TextFilterInput } from '../input/input-fields.ts'
import { labelConditions, type LabelFilterInput, labelWhere } from '../input/label-filter.ts'
import { projectScope } from '../access/tenants.ts'
import { argumentError, withoutNulls } from '../input/parse-input.ts'
import { RepriseError } from '../../domain/errors.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { shownEnviron, type ShownVariable } from '../session/session-fields.ts'
import type { Service } from '../../domain/deployment/discovery.ts'

export type { EndpointRow, RevisionKey, RevisionRow, RouteCountRow }
export type DeploymentRecord = Prisma.DeploymentGetPayload<object>

/** A filter of deployments. All given conditions must match; null counts as missing. */
export interface DeploymentFilterInput {
  status?: DeploymentStatus[] | null
  project?: string | null
  /** The beginning of the id, at least 8 hexadecimal digits. */
  idPrefix?: string | null
  name?: TextFilterInput | null
  labels?: readonly LabelFilterInput[] | null
  createdAt?: TimeFilterInput | null
}

interface Reader extends Pick<ServiceContext, 'viewer'> {
  prisma: PrismaClient
}
/** A reader of deployments that the viewer is known to see. */
type SeenReader = Pick<ServiceContext, 'db'>

/** Reads the deployments that the viewer sees, in no order. */
export function readDeployments({ prisma, viewer }: Reader, ids: readonly string[]): Promise<DeploymentRecord[]> {
  return prisma.deployment.findMany({ where: { id: { in: [...ids] }, ...projectScope(viewer) } })
}

/** @throws RepriseError VALIDATION_FAILED */
export function listDeployments(
  { prisma, viewer }: Reader,
  options: { filter: DeploymentFilterInput; order?: readonly OrderColumn[]; page: PageArguments },
): Promise<Page<DeploymentRecord>> {
  const { filter, order = NEWEST_FIRST, page } = options
  const wanted = { AND: [projectScope(viewer), deploymentWhere(filter)] }
  return keysetPage({
    args: page,
    order,
    find: ({ where, ...rest }) => prisma.deployment.findMany({ ...rest, where: { AND: [wanted, where] } }),
    count: () => prisma.deployment.count({ where: wanted }),
  })
}

export function readRevisions({ db }: SeenReader, keys: readonly RevisionKey[]): Promise<RevisionRow[]> {
  return readByKey(db, keys)
}

/** Reads revisions of deployments that the viewer sees; the others are left out. */
export async function readVisibleRevisions(
  context: Reader & SeenReader,
  keys: readonly RevisionKey[],
): Promise<RevisionRow[]> {
  const seen = await readDeployments(
    context,
    keys.map(({ deploymentId }) => deploymentId),
  )
  const ids = new Set(seen.map(({ id }) => id))
  return readRevisions(
    context,
    keys.filter(({ deploymentId }) => ids.has(deploymentId)),
  )
}

/** Reads one page for each deployment, oldest first or, backward, newest first. */
export function readRevisionPages(
  { db }: SeenReader,
  { deploymentIds, ...window }: SerialWindow & { deploymentIds: readonly string[] },
): Promise<RevisionRow[]> {
  return readPages(db, deploymentIds, window)
}

export function countRevisions({ db }: SeenReader, deploymentIds: readonly string[]): Promise<Map<string, number>> {
  return countByDeployment(db, deploymentIds)
}

export function readRouteCounts({ db }: SeenReader, deploymentIds: readonly string[]): Promise<RouteCountRow[]> {
  return countRoutes(db, deploymentIds)
}

/** Reads the endpoints that service discovery lists, oldest first. */
export function readEndpoints({ db }: SeenReader, deploymentIds: readonly string[]): Promise<EndpointRow[]> {
  return read(db, deploymentIds)
}

/** Complete deployments with related data, for REST; GraphQL reads only what its query selects. */
export interface DescribedDeployment extends Omit<DeploymentRecord, 'revision'> {
  projectName: string
  /** Includes the part of the environment that the viewer may read. */
  revision: RevisionRow & { environ: ShownVariable[] }
  routeCounts: RouteCountRow[]
}

/** @throws RepriseError DEPLOYMENT_NOT_FOUND */
export async function describeDeployment(context: ReadContext, id: string): Promise<DescribedDeployment> {
  const [described] = await describe(context, await readDeployments(context, [id]))
  if (!described) throw new RepriseError('DEPLOYMENT_NOT_FOUND', `no deployment ${id}`)
  return described
}

/**
 * Reads deployments, newest first.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function describeDeployments(
  context: ReadContext,
  options: { filter: DeploymentFilterInput; page: PageArguments },
): Promise<Page<DescribedDeployment>> {
  const page = await listDeployments(context, options)
  const nodes = await describe(
    context,
    page.edges.map(({ node }) => node),
  )
  return { ...page, edges: page.edges.map(({ cursor }, index) => ({ cursor, node: nodes[index]! })) }
}

/**
 * Reads endpoints, oldest first.
 * @throws RepriseError DEPLOYMENT_NOT_FOUND
 */
export async function endpointsOfDeployment(context: ReadContext, id: string): Promise<EndpointRow[]> {
  const [deployment] = await readDeployments(context, [id])
  if (!deployment) throw new RepriseError('DEPLOYMENT_NOT_FOUND', `no deployment ${id}`)
  return readEndpoints(context, [id])
}

export type { RouteList, RoutePlace, RouteRow }

type RouteReader = Pick<ServiceContext, 'db' | 'viewer'>

/** Reads the routes that the viewer sees, in no order. */
export function readRoutes(
  { db, viewer }: RouteReader,
  by: 'id' | 'sessionId',
  ids: readonly string[],
): Promise<RouteRow[]> {
  return readRouteRows(db, by, ids, viewer.projectId)
}

/** Identifies a list: the key is equal for the same deployment and statuses. */
export function routeListKey({ deploymentId, statuses }: RouteList): string {
  return `${deploymentId}/${statuses.join()}`
}

/** Reads routes, newest first, by `routeListKey`. The caller has checked that the viewer may see the deployments. */
export async function listRoutes(
  { db }: Pick<RouteReader, 'db'>,
  lists: readonly RouteList[],
  { after, limit }: { after: RoutePlace | null; limit: number },
): Promise<Map<string, RouteRow[]>> {
  return Map.groupBy(await readRoutePages(db, lists, after, limit), keyOf)
}

/** Counts routes by `routeListKey`. */
export async function countListedRoutes(
  { db }: Pick<RouteReader, 'db'>,
  lists: readonly RouteList[],
): Promise<Map<string, number>> {
  const rows = await countRoutesOfLists(db, lists)
  return new Map(rows.map((row) => [keyOf(row), row.count]))
}

/** Reads the deployments that the viewer sees, with their published endpoints, in a stable order. */
export function readDiscovery({ db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>): Promise<Service[]> {
  return readServices(db, viewer.projectId)
}

function deploymentWhere(filter: DeploymentFilterInput): Prisma.DeploymentWhereInput {
  const { status, project, idPrefix, name, labels, createdAt } = filter
  if ((status?.length ?? 0) > FILTER_LIST_MAX) {
    throw argumentError('filter.status', `At most ${FILTER_LIST_MAX} values.`)
  }
  return {
    ...(status && { status: { in: status } }),
    ...(project != null && { project: { name: project } }),
    ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'filter.idPrefix') }),
    ...nameWhere(name),
    AND: labelWhere(labelConditions(labels)),
    ...(createdAt && { createdAt: withoutNulls(createdAt) }),
  }
}

/** Needs three statements, however many deployments there are. */
async function describe(
  context: ReadContext,
  deployments: readonly DeploymentRecord[],
): Promise<DescribedDeployment[]> {
  const ids = deployments.map(({ id }) => id)
  const projectIds = [...new Set(deployments.map(({ projectId }) => projectId))]
  const [revisions, counts, projects] = await Promise.all([
    readRevisions(
      context,
      deployments.map(({ id, revision }) => ({ deploymentId: id, revision })),
    ),
    readRouteCounts(context, ids),
    context.prisma.project.findMany({ where: { id: { in: projectIds } }, select: { id: true, name: true } }),
  ])
  const revisionOf = new Map(
    revisions.map((revision) => [
      revision.deploymentId,
      { ...revision, environ: shownEnviron(context.viewer, revision.environ) },
    ]),
  )
  const countsOf = Map.groupBy(counts, ({ deploymentId }) => deploymentId)
  const nameOf = new Map(projects.map(({ id, name }) => [id, name]))
  return deployments.map((deployment) => ({
    ...deployment,
    projectName: nameOf.get(deployment.projectId)!,
    revision: revisionOf.get(deployment.id)!,
    routeCounts: countsOf.get(deployment.id) ?? [],
  }))
}

function keyOf({ deploymentId, listStatuses }: Pick<ListedRoute, 'deploymentId' | 'listStatuses'>): string {
  return `${deploymentId}/${listStatuses}`
}

import type { DeploymentStatus } from '../../domain/deployment/statuses.ts'
import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import type { Prisma, PrismaClient } from '../../store/prisma.ts'
import {
  countRevisions as countByDeployment,
  readRevisionPages as readPages,
  readRevisions as readByKey,
  type RevisionKey,
  type RevisionRow,
} from '../../store/sql/deployment/revisions.sql.ts'
import {
  countRoutes,
  readEndpoints as read,
  type RouteCountRow,
  type EndpointRow,
} from '../../store/sql/deployment/read-routes.sql.ts'
import { keysetPage, type Page } from '../paging/keyset.ts'
import type { OrderColumn } from '../paging/keyset-cursor.ts'
import { NEWEST_FIRST } from '../paging/orders.ts'
import type { PageArguments } from '../paging/page-arguments.ts'
import type { ServiceContext } from '../service-context.ts'
import type { TimeFilterInput } from '../session/session-where.ts'
import { idsBeginningWith } from '../input/id-prefix.ts'
import { textConditions, type TextFilterInput } from '../input/text-conditions.ts'
import { projectScope } from '../access/tenant-scope.ts'
import { withoutNulls } from '../input/without-nulls.ts'
import { argumentError } from '../input/parse-input.ts'

export type { EndpointRow, RevisionKey, RevisionRow, RouteCountRow }
export type DeploymentRecord = Prisma.DeploymentGetPayload<object>

/** Which deployments. All given conditions must match; null counts as missing. */
export interface DeploymentFilterInput {
  status?: DeploymentStatus[] | null
  project?: string | null
  /** The beginning of its id, at least 8 hexadecimal digits. */
  idPrefix?: string | null
  name?: TextFilterInput | null
  createdAt?: TimeFilterInput | null
}

interface Reader extends Pick<ServiceContext, 'viewer'> {
  prisma: PrismaClient
}
/** Reads deployments that the viewer is known to see. */
type SeenReader = Pick<ServiceContext, 'db'>

/** Those that the viewer sees, in no order. */
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

function deploymentWhere(filter: DeploymentFilterInput): Prisma.DeploymentWhereInput {
  const { status, project, idPrefix, name, createdAt } = filter
  if ((status?.length ?? 0) > FILTER_LIST_MAX) {
    throw argumentError('filter.status', `At most ${FILTER_LIST_MAX} values.`)
  }
  return {
    ...(status && { status: { in: status } }),
    ...(project != null && { project: { name: project } }),
    ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'filter.idPrefix') }),
    ...(name && { name: withoutNulls(textConditions(name, 'filter.name')!) }),
    ...(createdAt && { createdAt: withoutNulls(createdAt) }),
  }
}

export function readRevisions({ db }: SeenReader, keys: readonly RevisionKey[]): Promise<RevisionRow[]> {
  return readByKey(db, keys)
}

/** Oldest first, one page for each deployment. */
export function readRevisionPages(
  { db }: SeenReader,
  page: { deploymentIds: readonly string[]; after: string; limit: number },
): Promise<RevisionRow[]> {
  return readPages(db, page.deploymentIds, page.after, page.limit)
}

export function countRevisions({ db }: SeenReader, deploymentIds: readonly string[]): Promise<Map<string, number>> {
  return countByDeployment(db, deploymentIds)
}

export function readRouteCounts({ db }: SeenReader, deploymentIds: readonly string[]): Promise<RouteCountRow[]> {
  return countRoutes(db, deploymentIds)
}

/** The endpoints listed by service discovery, oldest first. */
export function readEndpoints({ db }: SeenReader, deploymentIds: readonly string[]): Promise<EndpointRow[]> {
  return read(db, deploymentIds)
}

import { RepriseError } from '../../domain/errors.ts'
import type { PageArguments } from '../paging/page-arguments.ts'
import type { Page } from '../paging/keyset.ts'
import {
  listDeployments,
  readDeployments,
  readEndpoints,
  readRevisions,
  readRouteCounts,
  type DeploymentFilterInput,
  type DeploymentRecord,
  type EndpointRow,
  type RevisionRow,
  type RouteCountRow,
} from './read-deployments.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { shownEnviron, type ShownVariable } from '../session/shown-environ.ts'

/** Complete deployments with related data, for REST; GraphQL reads only what its query selects. */
export interface DescribedDeployment extends Omit<DeploymentRecord, 'revision'> {
  projectName: string
  /** With the environment as the viewer may read it. */
  revision: RevisionRow & { environ: ShownVariable[] }
  routeCounts: RouteCountRow[]
}

/** @throws RepriseError DEPLOYMENT_NOT_FOUND */
export async function describeDeployment(context: ReadContext, id: string): Promise<DescribedDeployment> {
  const [described] = await describe(context, await readDeployments(context, [id]))
  if (!described) throw new RepriseError('DEPLOYMENT_NOT_FOUND', `no deployment ${id}`)
  return described
}

/** Newest first. @throws RepriseError VALIDATION_FAILED */
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

/** Oldest first. @throws RepriseError DEPLOYMENT_NOT_FOUND */
export async function endpointsOfDeployment(context: ReadContext, id: string): Promise<EndpointRow[]> {
  const [deployment] = await readDeployments(context, [id])
  if (!deployment) throw new RepriseError('DEPLOYMENT_NOT_FOUND', `no deployment ${id}`)
  return readEndpoints(context, [id])
}

/** Three statements, however many deployments. */
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

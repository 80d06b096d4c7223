import type { RouteStatus } from '../../../domain/deployment/statuses.ts'
import type { Queryable } from '../../database.ts'

export interface DeploymentRoute {
  id: string
  deploymentId: string
  revision: number
  status: RouteStatus
  wasHealthy: boolean
}

/** All routes that are not over. Index: routes_of_deployment. */
const SQL = `
SELECT id, deployment_id AS "deploymentId", revision, status, first_healthy_at IS NOT NULL AS "wasHealthy"
FROM routes WHERE deployment_id = ANY($1::uuid[]) AND status <> 'TERMINATED'`

/** Routes by deployment. While the caller holds the deployments, no route is added. */
export async function readRoutesOf(
  tx: Queryable,
  deploymentIds: readonly string[],
): Promise<Map<string, DeploymentRoute[]>> {
  const { rows } = await tx.query<DeploymentRoute>(SQL, [deploymentIds])
  return Map.groupBy(rows, ({ deploymentId }) => deploymentId)
}

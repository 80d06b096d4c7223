import type { RouteStatus } from '../../../domain/deployment/statuses.ts'
import type { Queryable } from '../../database.ts'

export interface RouteCountRow {
  deploymentId: string
  status: RouteStatus
  count: number
  /** Of these, the routes of the deployment's present revision. */
  present: number
}

/** Index: routes(deployment_id, …). */
const SQL = `
SELECT r.deployment_id AS "deploymentId", r.status, count(*) AS count,
  count(*) FILTER (WHERE r.revision = d.revision) AS present
FROM routes r JOIN deployments d ON d.id = r.deployment_id
WHERE r.deployment_id = ANY($1::uuid[]) GROUP BY r.deployment_id, r.status ORDER BY r.deployment_id, r.status`

export async function countRoutes(db: Queryable, deploymentIds: readonly string[]): Promise<RouteCountRow[]> {
  return (await db.query<RouteCountRow>(SQL, [deploymentIds])).rows
}

import type { Queryable } from '../../database.ts'

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

const COLUMNS = `r.id AS "routeId", r.deployment_id AS "deploymentId", r.host, r.port, r.session_id AS "sessionId",
  r.revision, r.published_at AS "publishedAt"`

/** Oldest first. Index: routes_of_deployment. */
const SQL = `
SELECT ${COLUMNS} FROM routes r
WHERE r.deployment_id = ANY($1::uuid[]) AND r.published_at IS NOT NULL AND r.status <> 'TERMINATED'
ORDER BY r.deployment_id, r.published_at, r.id`

export async function readEndpoints(db: Queryable, deploymentIds: readonly string[]): Promise<EndpointRow[]> {
  return (await db.query<EndpointRow>(SQL, [deploymentIds])).rows
}

import type { Service } from '../../../domain/deployment/discovery.ts'
import type { Queryable } from '../../database.ts'

/**
 * All deployments that are not being destroyed, with their published endpoints, in one snapshot and in a stable order:
 * project, name, endpoint. Indexes: deployments_name, routes_of_deployment.
 */
const SQL = `
SELECT d.id AS "deploymentId", d.name, p.name AS project, v.labels,
  coalesce((
    SELECT json_agg(json_build_object('routeId', r.id, 'host', r.host, 'port', r.port,
      'sessionId', r.session_id, 'revision', r.revision) ORDER BY r.published_at, r.id)
    FROM routes r WHERE r.deployment_id = d.id AND r.published_at IS NOT NULL AND r.status <> 'TERMINATED'
  ), '[]') AS endpoints
FROM deployments d JOIN projects p ON p.id = d.project_id
JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = d.revision
WHERE d.status NOT IN ('DESTROYING', 'DESTROYED') AND ($1::uuid IS NULL OR d.project_id = $1)
ORDER BY p.name COLLATE "C", d.name COLLATE "C"`

/** The services of one project, or of all. */
export async function readServices(db: Queryable, visibleProjectId: string | null): Promise<Service[]> {
  const { rows } = await db.query<Service>(SQL, [visibleProjectId])
  return rows
}

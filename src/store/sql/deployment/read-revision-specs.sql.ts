import type { Queryable } from '../../database.ts'
import type { DeploymentSpec } from './deployment-spec.sql.ts'

/** What the sessions of a revision run. */
export interface RevisionSpec extends Pick<
  DeploymentSpec,
  | 'resourceGroup'
  | 'image'
  | 'command'
  | 'environ'
  | 'secretEnviron'
  | 'resourceSlots'
  | 'priority'
  | 'labels'
  | 'agentLabels'
  | 'portVariable'
> {
  deploymentId: string
}

const SQL = `
SELECT v.deployment_id AS "deploymentId", v.resource_group AS "resourceGroup", v.image, v.command, v.environ,
  v.secret_environ AS "secretEnviron",
  v.resource_slots AS "resourceSlots", v.priority, v.labels, v.agent_labels AS "agentLabels",
  v.port_variable AS "portVariable"
FROM deployments d JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = d.revision
WHERE d.id = ANY($1::uuid[])`

/** The present revision of each deployment, by deployment id. */
export async function readRevisionSpecs(
  tx: Queryable,
  deploymentIds: readonly string[],
): Promise<Map<string, RevisionSpec>> {
  const { rows } = await tx.query<RevisionSpec>(SQL, [deploymentIds])
  return new Map(rows.map((row) => [row.deploymentId, row]))
}

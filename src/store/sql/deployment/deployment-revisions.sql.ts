import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'
import { SPEC_COLUMNS, SPEC_FIELDS, specSelect, type DeploymentSpec } from './deployment-spec.sql.ts'

/** A new revision resets the failure count, which belonged to the previous revision. */
const REVISE_SQL = `
WITH updated AS (
  UPDATE deployments SET revision = revision + 1, failures = 0, next_route_at = NULL WHERE id = $1
  RETURNING id, project_id, revision
), spec AS (${specSelect('$3')}
), revisions AS (
  INSERT INTO deployment_revisions (deployment_id, revision, ${SPEC_COLUMNS}, created_by)
  SELECT updated.id, updated.revision, spec.*, $2 FROM updated, spec
), events AS (
  INSERT INTO session_events (type, deployment_id, project_id, data)
  SELECT 'deployment.updated', id, project_id,
    ${eventData<DeploymentEventData['deployment.updated']>({ from: 'revision - 1', to: 'revision' })} FROM updated
)
SELECT revision FROM updated`

/** Adds a revision to a deployment that the transaction has locked, and returns its number. */
export async function insertRevision(
  tx: Queryable,
  revision: { deploymentId: string; actor: string; spec: DeploymentSpec },
): Promise<number> {
  const values = [revision.deploymentId, revision.actor, JSON.stringify(revision.spec)]
  return (await tx.query<{ revision: number }>(REVISE_SQL, values)).rows[0]!.revision
}

const READ_SQL = `
SELECT ${SPEC_FIELDS} FROM deployment_revisions v WHERE v.deployment_id = $1 AND v.revision = $2`

export async function readRevision(db: Queryable, deploymentId: string, revision: number): Promise<DeploymentSpec> {
  const { rows } = await db.query<DeploymentSpec>(READ_SQL, [deploymentId, revision])
  return rows[0]!
}

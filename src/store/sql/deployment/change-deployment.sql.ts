import type { RolloutSettings } from '../../../domain/deployment/rollout.ts'
import type { DeploymentStatus } from '../../../domain/deployment/statuses.ts'
import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'

export interface LockedDeployment extends RolloutSettings {
  id: string
  projectId: string
  status: DeploymentStatus
  revision: number
}

const LOCK_SQL = `
SELECT id, project_id AS "projectId", status, revision, replicas, min_healthy AS "minHealthy", max_surge AS "maxSurge"
FROM deployments WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2) FOR NO KEY UPDATE`

/** Undefined if the viewer sees no such deployment. Handlers skip it while it is locked, and look again when woken. */
export async function lockDeployment(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<LockedDeployment | undefined> {
  return (await tx.query<LockedDeployment>(LOCK_SQL, [id, visibleProjectId])).rows[0]
}

/** The event reports replicas only: the other settings show with the next update. */
const SCALE_SQL = `
WITH scaled AS (
  UPDATE deployments SET replicas = $2, min_healthy = $3, max_surge = $4 WHERE id = $1 RETURNING id, project_id
)
INSERT INTO session_events (type, deployment_id, project_id, data)
SELECT 'deployment.scaled', id, project_id,
  ${eventData<DeploymentEventData['deployment.scaled']>({ from: '$5::int', to: '$2::int' })} FROM scaled
WHERE $5::int <> $2::int`

export async function scaleDeploymentRow(
  tx: Queryable,
  id: string,
  { replicas, minHealthy, maxSurge }: RolloutSettings,
  before: number,
): Promise<void> {
  await tx.query(SCALE_SQL, [id, replicas, minHealthy, maxSurge, before])
}

const DESTROY_SQL = `
WITH before AS (
  SELECT id, status FROM deployments WHERE id = $1
), moved AS (
  UPDATE deployments d SET status = 'DESTROYING', status_changed_at = reprise_now(), destroyed_by = $2, status_reason = $3
  FROM before WHERE d.id = before.id RETURNING d.id, d.project_id, before.status AS "from"
), events AS (
  INSERT INTO session_events (type, deployment_id, project_id, data)
  SELECT 'deployment.status_changed', id, project_id,
    ${eventData<DeploymentEventData['deployment.status_changed']>({ from: '"from"', to: `'DESTROYING'`, reason: '$3::text' })}
  FROM moved
)
INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
SELECT 'DEPLOYMENT', id, 'destroy-deployment', "from"::text, 'DESTROYING', 'SUCCESS', $3 FROM moved`

/** For a deployment that the transaction has locked and that is not being destroyed yet. */
export async function destroyDeploymentRow(
  tx: Queryable,
  { id, actor, reason }: { id: string; actor: string; reason: string },
): Promise<void> {
  await tx.query(DESTROY_SQL, [id, actor, reason])
}

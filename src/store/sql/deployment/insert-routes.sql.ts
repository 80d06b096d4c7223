import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'

export interface NewRoute {
  id: string
  deploymentId: string
  revision: number
  sessionId: string
}

const ROUTE_CREATED = eventData<DeploymentEventData['route.status_changed']>({
  from: 'NULL',
  to: `'PROVISIONING'`,
  reason: 'NULL',
  sessionId: 'i.session_id',
  revision: 'i.revision',
  host: 'NULL',
  port: 'NULL',
})

/** Inserts routes for existing sessions, with event and history. The caller holds their deployments. */
const SQL = `
WITH inserted AS (
  INSERT INTO routes (id, deployment_id, revision, session_id)
  SELECT "id", "deploymentId", "revision", "sessionId" FROM json_to_recordset($1::json) AS i(
    "id" uuid, "deploymentId" uuid, "revision" int, "sessionId" uuid)
  RETURNING id, deployment_id, revision, session_id
), events AS (
  INSERT INTO session_events (type, deployment_id, route_id, project_id, data)
  SELECT 'route.status_changed', d.id, i.id, d.project_id, ${ROUTE_CREATED}
  FROM inserted i JOIN deployments d ON d.id = i.deployment_id
)
INSERT INTO scheduling_history (entity, entity_id, phase, to_status, result)
SELECT 'ROUTE', id, $2, 'PROVISIONING', 'SUCCESS' FROM inserted`

export async function insertRoutes(tx: Queryable, phase: string, routes: readonly NewRoute[]): Promise<void> {
  if (routes.length > 0) await tx.query(SQL, [JSON.stringify(routes), phase])
}

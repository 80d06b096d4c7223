import type { DeploymentResult } from '../../../domain/deployment/handlers.ts'
import type { DeclaredMove } from '../../../domain/deployment/judge.ts'
import type { DeploymentStatus } from '../../../domain/deployment/statuses.ts'
import type { DeploymentEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'
import { recordHistory } from '../session/record-history.sql.ts'

export type DeploymentMove = DeclaredMove<DeploymentStatus, DeploymentResult>

/** Moves deployments, with events and history: one statement per batch. The caller holds the deployments. */
const SQL = `
WITH moves AS (
  SELECT * FROM json_to_recordset($1::json) AS m(
    "id" uuid, "from" deployment_status, "to" deployment_status, "outcome" scheduling_result, "message" text)
), moved AS (
  UPDATE deployments d SET
    status = m."to",
    status_changed_at = CASE WHEN m."to" = m."from" THEN d.status_changed_at ELSE now() END,
    status_reason = CASE WHEN m."to" <> 'READY' THEN m."message" END,
    destroyed_at = CASE WHEN m."to" = 'DESTROYED' THEN now() END
  FROM moves m WHERE d.id = m."id" AND d.status = m."from"
  RETURNING d.id, d.project_id, m."from", m."to", m."outcome", m."message", NULL::text AS "errorCode"
), events AS (
  INSERT INTO session_events (type, deployment_id, project_id, data)
  SELECT CASE "to" WHEN 'DESTROYED' THEN 'deployment.destroyed' ELSE 'deployment.status_changed' END, id, project_id,
    ${eventData<DeploymentEventData['deployment.status_changed']>({ from: '"from"', to: '"to"', reason: '"message"' })}
  FROM moved WHERE "to" <> "from"
), ${recordHistory('DEPLOYMENT', { phase: '$2' })}
SELECT id FROM moved`

export async function applyDeploymentMoves(
  tx: Queryable,
  phase: string,
  moves: readonly DeploymentMove[],
): Promise<void> {
  if (moves.length > 0) await tx.query(SQL, [JSON.stringify(moves), phase])
}

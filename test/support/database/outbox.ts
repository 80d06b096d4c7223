import { randomUUID } from 'node:crypto'
import type { DeploymentEventType, SessionEventType } from '../../../src/domain/events.ts'
import type { Queryable } from '../../../src/store/database.ts'
import { DEFAULT_PROJECT_ID } from '../sessions/factories.ts'

export interface WrittenEvent {
  type?: SessionEventType
  sessionId?: string
  chainId?: string
  projectId?: string
  data?: object
}

/** Writes events to the outbox in the transaction `tx`. `data.n` numbers them unless other data are given. */
export async function writeEvents(tx: Queryable, events: readonly WrittenEvent[]): Promise<void> {
  const rows = events.map(({ type = 'session.created', sessionId = randomUUID(), ...event }, n) => ({
    type,
    session_id: sessionId,
    chain_id: event.chainId ?? sessionId,
    project_id: event.projectId ?? DEFAULT_PROJECT_ID,
    data: event.data ?? { n },
  }))
  await tx.query(
    `INSERT INTO session_events (type, session_id, chain_id, project_id, data)
     SELECT type, session_id, chain_id, project_id, data
     FROM json_to_recordset($1::json) AS e(type text, session_id uuid, chain_id uuid, project_id uuid, data jsonb)`,
    [JSON.stringify(rows)],
  )
}

/** One event with this number. */
export function numbered(n: number, event: WrittenEvent = {}): WrittenEvent {
  return { ...event, data: { n } }
}

export interface WrittenDeploymentEvent {
  type: DeploymentEventType
  deploymentId: string
  routeId?: string
  projectId?: string
  data?: object
}

/** The same for events of deployments. */
export async function writeDeploymentEvents(tx: Queryable, events: readonly WrittenDeploymentEvent[]): Promise<void> {
  for (const { type, deploymentId, routeId = null, projectId = DEFAULT_PROJECT_ID, data = {} } of events) {
    await tx.query(
      'INSERT INTO session_events (type, deployment_id, route_id, project_id, data) VALUES ($1, $2, $3, $4, $5)',
      [type, deploymentId, routeId, projectId, JSON.stringify(data)],
    )
  }
}

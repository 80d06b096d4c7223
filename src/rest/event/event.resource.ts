import { encodeCursor } from '../../domain/event-cursor.ts'
import { deploymentEventFields, sessionEventFields } from '../../domain/event-fields.ts'
import { EVENT_TYPES, type OutboxEvent } from '../../domain/events.ts'
import { component } from '../resources/input-schema.ts'

/** What `data:` of a streamed event is: as in webhooks, without what is to be read about its session. */
export const EVENT = component('Event', {
  type: 'object',
  description: 'The data of one event of the stream, as JSON.',
  properties: {
    type: { type: 'string', enum: [...EVENT_TYPES], description: 'As `event:` says it.' },
    timestamp: { type: 'string', format: 'date-time', description: 'When it happened.' },
    data: {
      type: 'object',
      description:
        '`session_id` and `chain_id`, or `deployment_id`, and what has happened, with the names of webhooks: of a status `previous_status`, `status` and `reason`; of a retry `attempt`, `max_attempts`, `cause`, `reason`, `delay_seconds`, `scheduled_at` and `child_session_id`; of a chain `epoch`, `attempts`, `cause`, `reason`, `running_seconds` and `waiting_seconds`.',
    },
  },
  required: ['type', 'timestamp', 'data'],
})

export function toSentEvent(event: OutboxEvent): { id: string; event: string; data: object } {
  const { cursor, type, occurredAt } = event
  return {
    id: encodeCursor(cursor),
    event: type,
    data: { type, timestamp: occurredAt.toISOString(), data: dataOf(event) },
  }
}

function dataOf(event: OutboxEvent): object {
  if (event.sessionId === null) {
    const { type, deploymentId, routeId, data } = event
    return { deployment_id: deploymentId, ...deploymentEventFields(type, data as never, routeId) }
  }
  const { sessionId, chainId, data } = event
  return { session_id: sessionId, chain_id: chainId, ...sessionEventFields(data) }
}

import { deploymentEventFields, sessionEventFields } from '../event-fields.ts'
import type {
  ChainEventData,
  DeploymentEventData,
  DeploymentEventType,
  RetryEventData,
  StatusEventData,
} from '../events.ts'

/** The `type` of a test event. */
export const TEST_EVENT_TYPE = 'webhook.test'

/** What a delivery stores about an event and its session, as they were, so that its payload never changes. */
interface SessionDeliveryFacts {
  event: StatusEventData | RetryEventData | ChainEventData
  session: {
    name: string
    type: string
    project: string
    parentSessionId: string | null
    /** Counted as in `retryState`. */
    attempt: number
    maxAttempts: number
    exitCode: number | null
  }
}

/** The same for an event and its deployment. */
interface DeploymentDeliveryFacts {
  event: DeploymentEventData[DeploymentEventType]
  deployment: DeploymentFacts
}

export type DeliveryFacts = SessionDeliveryFacts | DeploymentDeliveryFacts

export interface DeliveredEvent {
  webhookId: string
  type: string
  occurredAt: Date
  sessionId: string | null
  chainId: string | null
  /** Null for a test event. */
  facts: DeliveryFacts | null
}

/** The body of a request, in JSON. All events of one type have the same fields. */
export function payloadOf(event: DeliveredEvent): string {
  return JSON.stringify({ type: event.type, timestamp: event.occurredAt.toISOString(), data: dataOf(event) })
}

function dataOf({ webhookId, type, sessionId, chainId, facts }: DeliveredEvent): object {
  if (!facts) return { webhook_id: webhookId, message: 'This is a test: your endpoint is reached.' }
  if ('deployment' in facts) return deploymentData(type as DeploymentEventType, facts.event, facts.deployment)
  const { event, session } = facts
  return {
    session_id: sessionId,
    session_name: session.name,
    session_type: session.type,
    project: session.project,
    chain_id: chainId,
    parent_session_id: session.parentSessionId,
    ...eventData(event, session),
  }
}

function eventData(event: SessionDeliveryFacts['event'], session: SessionDeliveryFacts['session']): object {
  const { attempt, maxAttempts: max_attempts, exitCode: exit_code } = session
  const fields = sessionEventFields(event)
  if ('to' in event) return { attempt, max_attempts, ...fields, exit_code }
  return 'attempts' in event ? { ...fields, exit_code } : fields
}

/** What a delivery stores about a deployment, as it was at the time of the event. */
interface DeploymentFacts {
  id: string
  routeId: string | null
  name: string
  project: string
}

/** `data` of a payload about a deployment or one of its routes. */
function deploymentData<Type extends DeploymentEventType>(
  type: Type,
  event: DeploymentEventData[Type],
  facts: DeploymentFacts,
): object {
  const { id, routeId, name, project } = facts
  return { deployment_id: id, deployment_name: name, project, ...deploymentEventFields(type, event, routeId) }
}

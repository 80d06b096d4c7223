import type {
  ChainEventData,
  DeploymentEventData,
  DeploymentEventType,
  RetryEventData,
  StatusEventData,
} from '../events.ts'

const FIELDS: Fields = {
  'deployment.created': ({ replicas, revision }) => ({ replicas, revision }),
  'deployment.scaled': ({ from, to }) => ({ previous_replicas: from, replicas: to }),
  'deployment.updated': ({ from, to }) => ({ previous_revision: from, revision: to }),
  'deployment.status_changed': ({ from, to, reason }) => ({
    previous_status: from,
    status: to,
    reason: reason ?? null,
  }),
  'deployment.destroyed': ({ reason }) => ({ reason: reason ?? null }),
  'route.status_changed': ({ from, to, reason, sessionId, revision, host, port }, { routeId }) => ({
    route_id: routeId,
    session_id: sessionId,
    revision,
    previous_status: from,
    status: to,
    reason: reason ?? null,
    host: host ?? null,
    port: port ?? null,
  }),
}

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
  if ('to' in event) return statusData(event, session)
  return 'attempts' in event ? chainData(event, session) : retryData(event)
}

function chainData(event: ChainEventData, session: SessionDeliveryFacts['session']): object {
  return {
    epoch: event.epoch,
    attempts: event.attempts,
    cause: event.cause ?? null,
    reason: event.reason ?? null,
    exit_code: session.exitCode,
    running_seconds: event.runningSeconds ?? null,
    waiting_seconds: event.waitingSeconds ?? null,
  }
}

function statusData(event: StatusEventData, session: SessionDeliveryFacts['session']): object {
  return {
    attempt: session.attempt,
    max_attempts: session.maxAttempts,
    previous_status: event.from,
    status: event.to,
    reason: event.reason ?? null,
    exit_code: session.exitCode,
  }
}

function retryData(event: RetryEventData): object {
  return {
    attempt: event.attempt,
    max_attempts: event.maxAttempts,
    cause: event.cause,
    reason: event.reason,
    delay_seconds: event.delaySeconds,
    scheduled_at: event.scheduledAt,
    child_session_id: event.childSessionId,
  }
}

/** What a delivery stores about a deployment, as it was at the time of the event. */
interface DeploymentFacts {
  id: string
  routeId: string | null
  name: string
  project: string
}

type Fields = { [Type in DeploymentEventType]: (event: DeploymentEventData[Type], facts: DeploymentFacts) => object }

/** `data` of a payload about a deployment or one of its routes. */
function deploymentData<Type extends DeploymentEventType>(
  type: Type,
  event: DeploymentEventData[Type],
  facts: DeploymentFacts,
): object {
  const { id, name, project } = facts
  return { deployment_id: id, deployment_name: name, project, ...FIELDS[type](event, facts) }
}

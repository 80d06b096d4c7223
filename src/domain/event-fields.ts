import type {
  ChainEventData,
  DeploymentEventData,
  DeploymentEventType,
  RetryEventData,
  SessionOutboxEvent,
  StatusEventData,
} from './events.ts'

/** What an event says beside what it is about, with the names of webhooks and REST: the same for all of its type. */
export function sessionEventFields(event: SessionOutboxEvent['data']): object {
  if ('to' in event) return statusFields(event)
  return 'attempts' in event ? chainFields(event) : retryFields(event)
}

function statusFields(event: StatusEventData): object {
  return { previous_status: event.from, status: event.to, reason: event.reason ?? null }
}

function retryFields(event: RetryEventData): object {
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

function chainFields(event: ChainEventData): object {
  return {
    epoch: event.epoch,
    attempts: event.attempts,
    cause: event.cause ?? null,
    reason: event.reason ?? null,
    running_seconds: event.runningSeconds ?? null,
    waiting_seconds: event.waitingSeconds ?? null,
  }
}

type Fields = { [Type in DeploymentEventType]: (event: DeploymentEventData[Type], routeId: string | null) => object }

const DEPLOYMENT_FIELDS: Fields = {
  'deployment.created': ({ replicas, revision }) => ({ replicas, revision }),
  'deployment.scaled': ({ from, to }) => ({ previous_replicas: from, replicas: to }),
  'deployment.updated': ({ from, to }) => ({ previous_revision: from, revision: to }),
  'deployment.status_changed': ({ from, to, reason }) => ({
    previous_status: from,
    status: to,
    reason: reason ?? null,
  }),
  'deployment.destroyed': ({ reason }) => ({ reason: reason ?? null }),
  'route.status_changed': ({ from, to, reason, sessionId, revision, host, port }, routeId) => ({
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

/** The same for an event about a deployment or one of its routes. */
export function deploymentEventFields<Type extends DeploymentEventType>(
  type: Type,
  event: DeploymentEventData[Type],
  routeId: string | null,
): object {
  return DEPLOYMENT_FIELDS[type](event, routeId)
}

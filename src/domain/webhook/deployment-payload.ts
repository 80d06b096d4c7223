import type { DeploymentEventData, DeploymentEventType } from '../events.ts'

/** What a delivery stores about a deployment, as it was at the time of the event. */
export interface DeploymentFacts {
  id: string
  routeId: string | null
  name: string
  project: string
}

type Fields = { [Type in DeploymentEventType]: (event: DeploymentEventData[Type], facts: DeploymentFacts) => object }

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

/** `data` of a payload about a deployment or one of its routes. */
export function deploymentData<Type extends DeploymentEventType>(
  type: Type,
  event: DeploymentEventData[Type],
  facts: DeploymentFacts,
): object {
  const { id, name, project } = facts
  return { deployment_id: id, deployment_name: name, project, ...FIELDS[type](event, facts) }
}

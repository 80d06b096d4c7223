import {
  DEPLOYMENT_EVENT_TYPES,
  type DeploymentEventType,
  type DeploymentOutboxEvent,
  encodeCursor,
} from '../../../domain/events.ts'
import { builder } from '../../builder.ts'
import { EntityStatusEnum } from '../session/history.types.ts'
import { DeploymentNode, loadExistingDeployment, RouteNode } from './deployment.types.ts'

export const DeploymentEventTypeEnum = builder.enumType('DeploymentEventType', {
  description:
    "Type of a deployment event: the event's name in upper case, without `deployment.`, and with `_` in place of the dot of `route.`.",
  values: {
    CREATED: { description: 'It was created.' },
    SCALED: { description: 'The desired number of replicas changed.' },
    UPDATED: { description: 'It has another revision.' },
    STATUS_CHANGED: { description: 'Its status changed, and is not final.' },
    DESTROYED: { description: 'It was destroyed.' },
    ROUTE_STATUS_CHANGED: { description: 'One of its routes is new or has changed its status.' },
  } as const,
})

type EventName = typeof DeploymentEventTypeEnum.$inferType

function eventName(type: DeploymentEventType): EventName {
  return type.replace('deployment.', '').replace('.', '_').toUpperCase() as EventName
}

export function deploymentWireName(name: EventName): DeploymentEventType {
  return DEPLOYMENT_EVENT_TYPES.find((type) => eventName(type) === name)!
}

/** Fields that some types of events have. */
interface Data {
  from?: string | number | null
  to?: string | number
  reason?: string | null
  sessionId?: string
  revision?: number
  replicas?: number
  host?: string | null
  port?: number | null
}

const dataOf = ({ data }: DeploymentOutboxEvent) => data as Data

/** Returns `from` or `to` of an event that changes this kind of value; null for other events. */
function end(event: DeploymentOutboxEvent, kind: 'status' | 'replicas' | 'revision', side: 'from' | 'to') {
  const KINDS: Partial<Record<DeploymentEventType, typeof kind>> = {
    'deployment.scaled': 'replicas',
    'deployment.updated': 'revision',
    'deployment.status_changed': 'status',
    'route.status_changed': 'status',
  }
  return KINDS[event.type] === kind ? (dataOf(event)[side] ?? null) : null
}

export const DeploymentEventObject = builder.objectRef<DeploymentOutboxEvent>('DeploymentEvent').implement({
  description:
    'An event of a deployment or of one of its routes. Delivered at least once, in order for each deployment and for each route.',
  fields: (t) => ({
    cursor: t.string({ description: 'Its cursor: pass it as `after`.', resolve: ({ cursor }) => encodeCursor(cursor) }),
    type: t.field({
      type: DeploymentEventTypeEnum,
      description: 'The type of the event.',
      resolve: ({ type }) => eventName(type),
    }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened.' }),
    deploymentId: t.expose('deploymentId', { type: 'UUID', description: 'The deployment that it is about.' }),
    deployment: t.field({
      type: DeploymentNode,
      description: 'The deployment that it is about, as it is now.',
      resolve: ({ deploymentId }, _args, { loaders }) => loadExistingDeployment(loaders, deploymentId),
    }),
    routeId: t.expose('routeId', {
      type: 'UUID',
      nullable: true,
      description: 'The route that it is about, if any.',
    }),
    route: t.field({
      type: RouteNode,
      nullable: true,
      description: 'The route that it is about, as it is now.',
      resolve: ({ routeId }, _args, { loaders }) => (routeId === null ? null : loaders.routes.load(routeId)),
    }),
    sessionId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'The session of that route.',
      resolve: (event) => dataOf(event).sessionId ?? null,
    }),
    fromStatus: t.field({
      type: EntityStatusEnum,
      nullable: true,
      description:
        'The previous status of the deployment, or of the route if the event is about one; null for a new one.',
      resolve: (event) => end(event, 'status', 'from') as string | null,
    }),
    toStatus: t.field({
      type: EntityStatusEnum,
      nullable: true,
      description: 'The new status of the deployment, or of the route if the event is about one.',
      resolve: (event) => end(event, 'status', 'to') as string | null,
    }),
    fromReplicas: t.int({
      nullable: true,
      description: 'The previous number of replicas.',
      resolve: (event) => end(event, 'replicas', 'from') as number | null,
    }),
    toReplicas: t.int({
      nullable: true,
      description: 'The new desired number of replicas, if the deployment was created or scaled.',
      resolve: (event) => (end(event, 'replicas', 'to') as number | null) ?? dataOf(event).replicas ?? null,
    }),
    fromRevision: t.int({
      nullable: true,
      description: 'The number of the previous revision.',
      resolve: (event) => end(event, 'revision', 'from') as number | null,
    }),
    revision: t.int({
      nullable: true,
      description: "The number of the deployment's present revision, or of the route's revision.",
      resolve: (event) => (end(event, 'revision', 'to') as number | null) ?? dataOf(event).revision ?? null,
    }),
    host: t.string({
      nullable: true,
      description: 'Name or address of the machine on which the route serves.',
      resolve: (event) => dataOf(event).host ?? null,
    }),
    port: t.int({
      nullable: true,
      description: 'Port on which the route serves.',
      resolve: (event) => dataOf(event).port ?? null,
    }),
    reason: t.string({
      nullable: true,
      description: 'The reason, in words.',
      resolve: (event) => dataOf(event).reason ?? null,
    }),
  }),
})

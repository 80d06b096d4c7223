import { endpointUrl } from '../../../domain/deployment/discovery.ts'
import { rolloutBounds } from '../../../domain/deployment/plan-replicas.ts'
import { isSettled } from '../../../domain/deployment/lifecycle.ts'
import type {
  DeploymentRecord,
  EndpointRow,
  RouteCountRow,
  RouteRow,
} from '../../../services/deployment/read-deployments.ts'
import {
  assemblePage,
  decodeKeyset,
  encodeKeyset,
  invalidCursor,
  NEWEST_FIRST,
  pageSize,
} from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { isUuid } from '../../ids.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import type { Loaders } from '../../loaders/loaders.ts'
import { bothWaysArguments, forwardArguments, pageComplexity, serialPage } from '../../paging.ts'
import { ProjectNode } from '../access/access.types.ts'
import { historyField } from '../session/history.types.ts'
import { SessionNode } from '../session/session.types.ts'
import { DeploymentRevision, DeploymentRevisionConnection } from './deployment-revision.types.ts'

export const DeploymentStatusEnum = builder.enumType('DeploymentStatus', {
  description: 'Status of a deployment. DESTROYED is final.',
  values: {
    PENDING: { description: 'Just created.' },
    CREATED: {
      description: 'Same as PENDING; the server does not set it.',
      deprecationReason: 'Use `PENDING`: no deployment has this status.',
    },
    DEPLOYING: {
      description: 'Same as SCALING; the server does not set it.',
      deprecationReason: 'Use `SCALING`: no deployment has this status.',
    },
    SCALING: {
      description: 'It is moving towards its desired replicas and revision; `statusReason` names what it waits for.',
    },
    READY: { description: 'It has the desired number of healthy routes of its revision, and no others.' },
    DESTROYING: { description: 'Its routes are being terminated.' },
    DESTROYED: { description: 'It has been destroyed with all its routes.' },
  } as const,
})

const RouteStatusEnum = builder.enumType('RouteStatus', {
  description: 'Status of a route. TERMINATED is final.',
  values: {
    PROVISIONING: { description: 'Its session is being started.' },
    DEGRADED: { description: 'Its session runs, but there is no recent check result.' },
    HEALTHY: { description: 'It passes its checks and is listed by service discovery.' },
    UNHEALTHY: { description: 'It fails its checks; it is replaced if this continues.' },
    FAILED_TO_START: { description: 'Its session ended, or did not start to serve in time; it is replaced.' },
    TERMINATING: { description: 'Service discovery no longer lists it; its session ends after the drain time.' },
    TERMINATED: { description: 'It has ended.' },
  } as const,
})

const RouteCount = builder.objectRef<RouteCountRow>('RouteCount').implement({
  description: 'Number of routes with one status.',
  fields: (t) => ({
    status: t.expose('status', { type: RouteStatusEnum, description: 'The status.' }),
    count: t.exposeInt('count', { description: 'Number of routes.' }),
  }),
})

const Endpoint = builder.objectRef<EndpointRow>('Endpoint').implement({
  description: 'Where a healthy route serves.',
  fields: (t) => ({
    host: t.exposeString('host', { description: 'Name or address of the machine.' }),
    port: t.exposeInt('port', { description: 'Port on this machine.' }),
    url: t.string({ description: 'Machine and port as a URL.', resolve: endpointUrl }),
    since: t.expose('publishedAt', { type: 'DateTime', description: 'When service discovery began to list it.' }),
  }),
})

const deploymentRef = builder.objectRef<DeploymentRecord>('Deployment')

export const DeploymentNode = builder.node(deploymentRef, {
  description: 'A service with a fixed number of healthy replicas: routes are started, checked and replaced as needed.',
  id: { resolve: ({ id }) => id },
  loadOne: (id, { loaders }) => (isUuid(id) ? loaders.deployments.load(id.toLowerCase()) : undefined),
  fields: (t) => ({
    deploymentId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    creationId: t.exposeString('creationId', { description: "The client's idempotency key, unique in the project." }),
    name: t.exposeString('name', {
      description: 'Its name, unique among those of its project that are not destroyed.',
    }),
    project: t.prismaField({
      type: ProjectNode,
      description: 'The project that it belongs to.',
      // Prisma reads all that are requested in the same tick with one statement.
      resolve: (query, { projectId }, _args, { services }) =>
        services.prisma.project.findUniqueOrThrow({ ...query, where: { id: projectId } }),
    }),
    status: t.expose('status', { type: DeploymentStatusEnum, description: 'Its status.' }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'Why it is not ready, in words; null if it is ready.',
    }),
    statusChangedAt: t.expose('statusChangedAt', { type: 'DateTime', description: 'When it entered this status.' }),
    replicas: t.exposeInt('replicas', { description: 'Desired number of healthy routes.' }),
    minHealthy: t.int({
      description: 'Minimum number of healthy routes during an update, unless there were fewer before it.',
      resolve: (deployment) => rolloutBounds(deployment).minHealthy,
    }),
    maxSurge: t.int({
      description: 'Maximum number of extra routes during an update.',
      resolve: (deployment) => rolloutBounds(deployment).maxSurge,
    }),
    revision: t.field({
      type: DeploymentRevision,
      description: 'The revision that its routes should have.',
      resolve: ({ id, revision }, _args, { loaders }) => loaders.revisions.load({ deploymentId: id, revision }),
    }),
    revisions: t.field({
      type: DeploymentRevisionConnection,
      description: 'All its revisions, oldest first.',
      args: bothWaysArguments(t),
      complexity: pageComplexity,
      resolve: ({ id }, args, { loaders }) =>
        serialPage({ id, args, loader: loaders.revisionPages, count: () => loaders.revisionCount.load(id) }),
    }),
    routeCounts: t.field({
      type: [RouteCount],
      description: 'Number of its routes by status; statuses without routes are left out.',
      resolve: ({ id }, _args, { loaders }) => loaders.routeCounts.load(id),
    }),
    healthyReplicas: t.int({
      description: 'How many of its routes are healthy.',
      resolve: async ({ id }, _args, { loaders }) =>
        (await loaders.routeCounts.load(id)).find(({ status }) => status === 'HEALTHY')?.count ?? 0,
    }),
    settled: t.boolean({
      description:
        'Whether it has reached its target: it is ready with exactly the desired number of healthy routes of its revision and no others, or it is destroyed.',
      resolve: async (deployment, _args, { loaders }) =>
        isSettled(deployment, await loaders.routeCounts.load(deployment.id)),
    }),
    endpoints: t.field({
      type: [Endpoint],
      description: 'Addresses of its healthy routes, as service discovery lists them, oldest first.',
      resolve: ({ id }, _args, { loaders }) => loaders.endpoints.load(id),
    }),
    failures: t.exposeInt('failures', {
      description:
        'Number of consecutive routes of its revision that failed, without one in between that stayed healthy.',
    }),
    nextRouteAt: t.expose('nextRouteAt', {
      type: 'DateTime',
      nullable: true,
      description: 'After such failures: no new route is started before this time.',
    }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: 'Who created it: the name of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    destroyedBy: t.exposeString('destroyedBy', {
      nullable: true,
      description: 'Who destroyed it: the name of the token.',
    }),
    destroyedAt: t.expose('destroyedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its destruction was complete.',
    }),
    schedulingHistory: t.field(historyField(t, 'Actions of the server on it, oldest first.')),
  }),
})

const routeRef = builder.objectRef<RouteRow>('Route')

export const RouteNode = builder.node(routeRef, {
  description: 'One replica of a deployment: a session on an agent, and the results of its health checks.',
  id: { resolve: ({ id }) => id },
  loadOne: (id, { loaders }) => (isUuid(id) ? loaders.routes.load(id.toLowerCase()) : undefined),
  fields: (t) => ({
    routeId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    deployment: t.field({
      type: DeploymentNode,
      description: 'Its deployment.',
      resolve: ({ deploymentId }, _args, { loaders }) => loadExistingDeployment(loaders, deploymentId),
    }),
    revision: t.field({
      type: DeploymentRevision,
      description: 'Its revision.',
      resolve: ({ deploymentId, revision }, _args, { loaders }) => loaders.revisions.load({ deploymentId, revision }),
    }),
    session: t.field({
      type: SessionNode,
      description: 'The session that runs its program.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    status: t.expose('status', { type: RouteStatusEnum, description: 'Its status.' }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'The reason for its status, in words.',
    }),
    statusChangedAt: t.expose('statusChangedAt', { type: 'DateTime', description: 'When it entered this status.' }),
    host: t.exposeString('host', {
      nullable: true,
      description: 'Name or address of the machine on which it serves, once it runs.',
    }),
    port: t.exposeInt('port', { nullable: true, description: 'Port on which it serves.' }),
    successes: t.exposeInt('successes', {
      description: 'Number of consecutive successful checks; 0 if the last one failed.',
    }),
    failures: t.exposeInt('failures', {
      description: 'Number of consecutive failed checks; 0 if the last one succeeded.',
    }),
    lastCheckAt: t.expose('lastCheckAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last checked.',
    }),
    lastCheckFault: t.exposeString('lastCheckFault', {
      nullable: true,
      description: 'The fault that the last check found, in words; null if it succeeded.',
    }),
    nextCheckAt: t.expose('nextCheckAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next check is due, or when the current one times out.',
    }),
    firstHealthyAt: t.expose('firstHealthyAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was healthy for the first time.',
    }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When service discovery began to list it; null if it is not listed.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    terminatedAt: t.expose('terminatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its termination was complete.',
    }),
    schedulingHistory: t.field(historyField(t, 'Actions of the server on it, oldest first.')),
  }),
})

builder.objectField(SessionNode, 'route', (t) =>
  t.field({
    type: RouteNode,
    nullable: true,
    description: 'The route whose program it runs, if it belongs to a deployment.',
    resolve: ({ id }, _args, { loaders }) => loaders.routeOfSession.load(id),
  }),
)

/** Loads a deployment that a foreign key guarantees to exist. */
export async function loadExistingDeployment({ deployments }: Loaders, id: string) {
  const deployment = await deployments.load(id)
  if (!deployment) throw new Error(`no deployment ${id}`)
  return deployment
}

const RouteConnection = builder.connectionObject(
  { type: RouteNode, name: 'RouteConnection', description: 'A page of routes.' },
  { name: 'RouteEdge', description: 'One route with its cursor.' },
)

builder.objectField(DeploymentNode, 'routes', (t) =>
  t.field({
    type: RouteConnection,
    description: 'Its routes, newest first, including ended ones.',
    args: {
      ...forwardArguments(t),
      status: t.arg({ type: [RouteStatusEnum], description: 'Only routes in one of these statuses.' }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
    resolve: async ({ id }, { status, ...args }, { loaders }) => {
      const list = { deploymentId: id, statuses: [...new Set(status)].toSorted() }
      // An empty list of statuses matches nothing.
      const none = status?.length === 0
      const limit = pageSize({ first: args.first }).size + 1
      const rows = none ? [] : await loaders.routePages.load({ ...list, after: routeCursor(args.after), limit })
      return assemblePage<RouteRow>({
        args,
        rows,
        cursorOf: (row) => encodeKeyset(NEWEST_FIRST, row),
        count: () => (none ? Promise.resolve(0) : loaders.routeListCount.load(list)),
      })
    },
  }),
)

function routeCursor(cursor: string | null | undefined) {
  if (cursor == null) return null
  const values = decodeKeyset(NEWEST_FIRST, cursor)
  if (!values) throw invalidCursor('after')
  const [createdAt, id] = values as [Date, string]
  return { createdAt, id }
}

builder.objectField(Endpoint, 'route', (t) =>
  t.field({
    type: RouteNode,
    description: 'The route that serves at this address.',
    resolve: async ({ routeId }, _args, { loaders }) => {
      const route = await loaders.routes.load(routeId)
      if (!route) throw new Error(`no route ${routeId}`)
      return route
    },
  }),
)

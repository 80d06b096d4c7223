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
import { forwardArguments, serialPage } from '../../paging.ts'
import { ProjectNode } from '../access/access.types.ts'
import { historyField } from '../session/history.types.ts'
import { SessionNode } from '../session/session.types.ts'
import { DeploymentRevision, DeploymentRevisionConnection } from './deployment-revision.types.ts'

export const DeploymentStatusEnum = builder.enumType('DeploymentStatus', {
  description: 'Status of a deployment. DESTROYED is final.',
  values: {
    PENDING: { description: 'Just created.' },
    CREATED: { description: 'As PENDING; no longer written.' },
    DEPLOYING: { description: 'As SCALING; no longer written.' },
    SCALING: {
      description: 'It is moving to its number of replicas and its revision; `statusReason` says what it waits for.',
    },
    READY: { description: 'It has the desired number of healthy routes of its revision, and no others.' },
    DESTROYING: { description: 'Its routes are being terminated.' },
    DESTROYED: { description: 'Gone.' },
  } as const,
})

const RouteStatusEnum = builder.enumType('RouteStatus', {
  description: 'Status of a route. TERMINATED is final.',
  values: {
    PROVISIONING: { description: 'Its session is being started.' },
    DEGRADED: { description: 'Its session runs, but there is no recent check result.' },
    HEALTHY: { description: 'It passes its checks and is listed by service discovery.' },
    UNHEALTHY: { description: 'It fails its checks, and is replaced if that lasts.' },
    FAILED_TO_START: { description: 'Its session ended, or did not start to serve in time; it is replaced.' },
    TERMINATING: { description: 'Clients are no longer sent to it; its session ends after the drain.' },
    TERMINATED: { description: 'Gone.' },
  } as const,
})

const RouteCount = builder.objectRef<RouteCountRow>('RouteCount').implement({
  description: 'Number of routes with one status.',
  fields: (t) => ({
    status: t.expose('status', { type: RouteStatusEnum, description: 'The status.' }),
    count: t.exposeInt('count', { description: 'How many.' }),
  }),
})

const Endpoint = builder.objectRef<EndpointRow>('Endpoint').implement({
  description: 'Where a healthy route serves.',
  fields: (t) => ({
    host: t.exposeString('host', { description: 'Name or address of its agent’s machine.' }),
    port: t.exposeInt('port', { description: 'Its port there.' }),
    url: t.string({ description: 'Both as a URL.', resolve: endpointUrl }),
    since: t.expose('publishedAt', { type: 'DateTime', description: 'Since when service discovery lists it.' }),
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
    statusChangedAt: t.expose('statusChangedAt', { type: 'DateTime', description: 'Since when it has this status.' }),
    replicas: t.exposeInt('replicas', { description: 'Desired number of healthy routes.' }),
    minHealthy: t.int({
      description: 'Minimum number of healthy routes during an update, as far as there were that many.',
      resolve: (deployment) => rolloutBounds(deployment).minHealthy,
    }),
    maxSurge: t.int({
      description: 'Maximum number of extra routes during an update.',
      resolve: (deployment) => rolloutBounds(deployment).maxSurge,
    }),
    revision: t.field({
      type: DeploymentRevision,
      description: 'The revision from which its routes are to be made.',
      resolve: ({ id, revision }, _args, { loaders }) => loaders.revisions.load({ deploymentId: id, revision }),
    }),
    revisions: t.field({
      type: DeploymentRevisionConnection,
      description: 'All its revisions, oldest first.',
      args: forwardArguments(t),
      complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
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
      description: 'Addresses of its healthy routes, as listed by service discovery, oldest first.',
      resolve: ({ id }, _args, { loaders }) => loaders.endpoints.load(id),
    }),
    failures: t.exposeInt('failures', {
      description: 'Consecutive routes of its revision that failed, without a lasting healthy one in between.',
    }),
    nextRouteAt: t.expose('nextRouteAt', {
      type: 'DateTime',
      nullable: true,
      description: 'No new route is started before this time, after such failures.',
    }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: 'Who created it: the name of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    destroyedBy: t.exposeString('destroyedBy', { nullable: true, description: 'Who had it destroyed.' }),
    destroyedAt: t.expose('destroyedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was destroyed completely.',
    }),
    schedulingHistory: t.field(historyField(t, 'What the server did with it, oldest first.')),
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
      description: 'What it was made from.',
      resolve: ({ deploymentId, revision }, _args, { loaders }) => loaders.revisions.load({ deploymentId, revision }),
    }),
    session: t.field({
      type: SessionNode,
      description: 'What runs its program.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    status: t.expose('status', { type: RouteStatusEnum, description: 'Its status.' }),
    statusReason: t.exposeString('statusReason', { nullable: true, description: 'Why it has this status, in words.' }),
    statusChangedAt: t.expose('statusChangedAt', { type: 'DateTime', description: 'Since when it has this status.' }),
    host: t.exposeString('host', {
      nullable: true,
      description: 'Where it serves: its agent’s machine, once it runs.',
    }),
    port: t.exposeInt('port', { nullable: true, description: 'Where it serves: its port there.' }),
    successes: t.exposeInt('successes', { description: 'Consecutive successful checks; 0 if the last one failed.' }),
    failures: t.exposeInt('failures', { description: 'Consecutive failed checks; 0 if the last one succeeded.' }),
    lastCheckAt: t.expose('lastCheckAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last checked.',
    }),
    lastCheckFault: t.exposeString('lastCheckFault', {
      nullable: true,
      description: 'What the last check found wrong, in words; null if nothing.',
    }),
    nextCheckAt: t.expose('nextCheckAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next check is due, or the current one times out.',
    }),
    firstHealthyAt: t.expose('firstHealthyAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was healthy for the first time.',
    }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when service discovery lists it; null if it does not.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    terminatedAt: t.expose('terminatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was destroyed completely.',
    }),
    schedulingHistory: t.field(historyField(t, 'What the server did with it, oldest first.')),
  }),
})

builder.objectField(SessionNode, 'route', (t) =>
  t.field({
    type: RouteNode,
    nullable: true,
    description: 'The route that it runs, if it belongs to a deployment.',
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
  { name: 'RouteEdge', description: 'One route and its place.' },
)

builder.objectField(DeploymentNode, 'routes', (t) =>
  t.field({
    type: RouteConnection,
    description: 'Its routes, newest first, including ended ones.',
    args: {
      ...forwardArguments(t),
      status: t.arg({ type: [RouteStatusEnum], description: 'Those in one of these statuses.' }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
    resolve: async ({ id }, { status, ...args }, { loaders }) => {
      const list = { deploymentId: id, statuses: [...new Set(status)].toSorted() }
      // An empty list of statuses matches nothing.
      const none = status?.length === 0
      const limit = pageSize({ first: args.first }).size + 1
      const rows = none ? [] : await loaders.routePages.load({ ...list, after: placeOf(args.after), limit })
      return assemblePage<RouteRow>({
        args,
        rows,
        cursorOf: (row) => encodeKeyset(NEWEST_FIRST, row),
        count: () => (none ? Promise.resolve(0) : loaders.routeListCount.load(list)),
      })
    },
  }),
)

function placeOf(cursor: string | null | undefined) {
  if (cursor == null) return null
  const values = decodeKeyset(NEWEST_FIRST, cursor)
  if (!values) throw invalidCursor('after')
  const [createdAt, id] = values as [Date, string]
  return { createdAt, id }
}

builder.objectField(Endpoint, 'route', (t) =>
  t.field({
    type: RouteNode,
    description: 'The route that serves there.',
    resolve: async ({ routeId }, _args, { loaders }) => {
      const route = await loaders.routes.load(routeId)
      if (!route) throw new Error(`no route ${routeId}`)
      return route
    },
  }),
)

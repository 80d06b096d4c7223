import { endpointUrl } from '../../../domain/deployment/discovery.ts'
import { rolloutBounds } from '../../../domain/deployment/rollout.ts'
import { isSettled } from '../../../domain/deployment/settled.ts'
import type { DeploymentRecord, EndpointRow, RouteCountRow } from '../../../services/deployment/read-deployments.ts'
import { builder } from '../../builder.ts'
import { forwardArguments, serialPage } from '../../paging.ts'
import { isUuid } from '../../ids.ts'
import { historyField } from '../session/history.types.ts'
import { ProjectNode } from '../access/access.types.ts'
import { DeploymentRevision, DeploymentRevisionConnection } from './deployment-revision.type.ts'
import { DeploymentStatusEnum, RouteStatusEnum } from './deployment.enums.ts'

const RouteCount = builder.objectRef<RouteCountRow>('RouteCount').implement({
  description: 'Number of routes with one status.',
  fields: (t) => ({
    status: t.expose('status', { type: RouteStatusEnum, description: 'The status.' }),
    count: t.exposeInt('count', { description: 'How many.' }),
  }),
})

export const Endpoint = builder.objectRef<EndpointRow>('Endpoint').implement({
  description: 'Where a healthy route serves.',
  fields: (t) => ({
    host: t.exposeString('host', { description: 'Name or address of its agent’s machine.' }),
    port: t.exposeInt('port', { description: 'Its port there.' }),
    url: t.string({ description: 'Both as a URL.', resolve: endpointUrl }),
    since: t.expose('publishedAt', { type: 'DateTime', description: 'Since when service discovery lists it.' }),
  }),
})

const ref = builder.objectRef<DeploymentRecord>('Deployment')

export const DeploymentNode = builder.node(ref, {
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

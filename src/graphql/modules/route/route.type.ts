import type { RouteRow } from '../../../services/deployment/read-routes.ts'
import type { Loaders } from '../../loaders/loaders.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { isUuid } from '../../ids.ts'
import { DeploymentRevision } from '../deployment/deployment-revision.type.ts'
import { DeploymentNode } from '../deployment/deployment.type.ts'
import { RouteStatusEnum } from '../deployment/deployment.enums.ts'
import { historyField } from '../session/history.types.ts'
import { SessionNode } from '../session/session.types.ts'

const ref = builder.objectRef<RouteRow>('Route')

export const RouteNode = builder.node(ref, {
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

/** A foreign key guarantees that the deployment exists. */
export async function loadExistingDeployment({ deployments }: Loaders, id: string) {
  const deployment = await deployments.load(id)
  if (!deployment) throw new Error(`no deployment ${id}`)
  return deployment
}

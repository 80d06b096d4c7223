import { createRoute, z } from '@hono/zod-openapi'
import { DEPLOYMENT_STATUSES } from '../domain/deployment/lifecycle.ts'
import { describeDeployment, describeDeployments } from '../services/deployment/read-deployments.ts'
import { ID_PREFIX_WORDS } from '../services/input/input-fields.ts'
import {
  BODY_PROBLEMS,
  COMMON_PROBLEMS,
  json,
  jsonBody,
  nextLink,
  PAGE_PARAMETERS,
  pageOf,
  problems,
  toPage,
} from './route-parts.ts'
import {
  DEPLOYMENT_CHANGE,
  DEPLOYMENT_INPUT,
  DEPLOYMENT_SCALE,
  DeploymentResource,
  toDeployment,
} from './deployment.resource.ts'
import type { RestApp } from './rest-app.ts'
import { DeploymentIdParameter, labelFilters, moment, several, toLabelFilters } from './parameters.ts'
import { createDeployment, type CreateDeploymentInput } from '../services/deployment/create-deployment.ts'
import { readJsonObject, writtenInput } from './json-body.ts'
import {
  destroyDeployment,
  scaleDeployment,
  type ScaleDeploymentInput,
  updateDeployment,
  type UpdateDeploymentInput,
} from '../services/deployment/change-deployment.ts'

const DeploymentPage = pageOf(DeploymentResource).openapi('DeploymentPage')

const listRoute = createRoute({
  method: 'get',
  path: '/v2/deployments',
  operationId: 'listDeployments',
  summary: 'List deployments',
  description: 'Newest first, including destroyed deployments. All given filters must match.',
  tags: ['deployments'],
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      status: several(DEPLOYMENT_STATUSES, 'In one of these statuses.'),
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      id_prefix: z.string().optional().openapi({ description: ID_PREFIX_WORDS }),
      name: z.string().optional().openapi({ description: 'With this name.' }),
      label: labelFilters(),
      created_after: moment('Created at this time or later.'),
      created_before: moment('Created before this time.'),
    }),
  },
  responses: {
    200: json(DeploymentPage, 'A page of deployments; the header `Link` points to the next one.'),
    ...COMMON_PROBLEMS,
  },
})

const createDeploymentRoute = createRoute({
  method: 'post',
  path: '/v2/deployments',
  operationId: 'createDeployment',
  summary: 'Create a deployment',
  description: 'Idempotent by `creation_id`: a repeated request returns the existing deployment.',
  tags: ['deployments'],
  request: {
    body: jsonBody(DEPLOYMENT_INPUT, {
      name: 'web',
      command: ['node', 'server.js'],
      replicas: 3,
      health_check: { path: '/healthz', interval: 2 },
      creation_id: 'web-2026-11-21',
    }),
  },
  responses: {
    201: json(DeploymentResource, 'Created.'),
    200: json(DeploymentResource, 'The `creation_id` was used before: the deployment that it created.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'PROJECT_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'NAME_TAKEN', 'QUOTA_EXCEEDED'),
  },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/deployments/{id}',
  operationId: 'getDeployment',
  summary: 'Get a deployment',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter },
  responses: {
    200: json(DeploymentResource, 'The deployment.'),
    ...COMMON_PROBLEMS,
    ...problems('DEPLOYMENT_NOT_FOUND'),
  },
})

const updateRoute = createRoute({
  method: 'patch',
  path: '/v2/deployments/{id}',
  operationId: 'updateDeployment',
  summary: 'Change the specification of a deployment',
  description: 'Adds a revision; routes are replaced step by step. Missing fields keep their values.',
  tags: ['deployments'],
  request: {
    params: DeploymentIdParameter,
    body: jsonBody(DEPLOYMENT_CHANGE, { command: ['node', 'server.js', '--fast'], health_check: { timeout: 1 } }),
  },
  responses: {
    200: json(DeploymentResource, 'The deployment after the change.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'DEPLOYMENT_NOT_FOUND', 'DEPLOYMENT_DESTROYED', 'RESOURCE_GROUP_NOT_FOUND'),
  },
})

const scaleRoute = createRoute({
  method: 'post',
  path: '/v2/deployments/{id}/scale',
  operationId: 'scaleDeployment',
  summary: 'Set the number of replicas',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter, body: jsonBody(DEPLOYMENT_SCALE, { replicas: 5 }) },
  responses: {
    200: json(DeploymentResource, 'The deployment after the change.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'DEPLOYMENT_NOT_FOUND', 'DEPLOYMENT_DESTROYED'),
  },
})

const destroyRoute = createRoute({
  method: 'delete',
  path: '/v2/deployments/{id}',
  operationId: 'destroyDeployment',
  summary: 'Destroy a deployment',
  description: 'Terminates all its routes. The record of the deployment and its history are kept.',
  tags: ['deployments'],
  request: {
    params: DeploymentIdParameter,
    query: z.strictObject({
      reason: z.string().optional().openapi({ description: 'The reason, which is stored with the deployment.' }),
    }),
  },
  responses: {
    202: json(DeploymentResource, 'It is being destroyed.'),
    ...COMMON_PROBLEMS,
    ...problems('DEPLOYMENT_NOT_FOUND', 'DEPLOYMENT_DESTROYED'),
  },
})

export function serveDeployments(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const {
      limit,
      cursor,
      status,
      project,
      name,
      label,
      created_after: gte,
      created_before: lt,
      ...given
    } = c.req.valid('query')
    const page = await describeDeployments(c.get('context'), {
      filter: {
        status: status ?? null,
        project: project ?? null,
        idPrefix: given.id_prefix ?? null,
        name: { equals: name ?? null },
        labels: toLabelFilters(label),
        createdAt: { gte: gte ?? null, lt: lt ?? null },
      },
      page: { first: limit, after: cursor ?? null },
    })
    const body = toPage(page, toDeployment)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(createDeploymentRoute, async (c) => {
    const context = c.get('context')
    const input = writtenInput(await readJsonObject(c.env.incoming)) as CreateDeploymentInput
    const { deploymentId, created } = await createDeployment(context, input)
    const deployment = toDeployment(await describeDeployment(context, deploymentId))
    if (!created) return c.json(deployment, 200)
    return c.json(deployment, 201, { Location: `/v2/deployments/${deploymentId}` })
  })
  app.openapi(getRoute, async (c) => {
    return c.json(toDeployment(await describeDeployment(c.get('context'), c.req.valid('param').id)), 200)
  })
  app.openapi(updateRoute, async (c) => {
    const context = c.get('context')
    const change = writtenInput(await readJsonObject(c.env.incoming)) as Omit<UpdateDeploymentInput, 'deploymentId'>
    const { deploymentId } = await updateDeployment(context, { ...change, deploymentId: c.req.valid('param').id })
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 200)
  })
  app.openapi(scaleRoute, async (c) => {
    const context = c.get('context')
    const change = writtenInput(await readJsonObject(c.env.incoming)) as Omit<ScaleDeploymentInput, 'deploymentId'>
    const { deploymentId } = await scaleDeployment(context, { ...change, deploymentId: c.req.valid('param').id })
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 200)
  })
  app.openapi(destroyRoute, async (c) => {
    const context = c.get('context')
    const { reason } = c.req.valid('query')
    const input = { deploymentId: c.req.valid('param').id, reason: reason ?? null }
    const { deploymentId } = await destroyDeployment(context, input)
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 202)
  })
}

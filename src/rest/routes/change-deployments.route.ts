import { createRoute, z } from '@hono/zod-openapi'
import { createDeployment, type CreateDeploymentInput } from '../../services/create-deployment.ts'
import { describeDeployment } from '../../services/describe-deployments.ts'
import { destroyDeployment } from '../../services/destroy-deployment.ts'
import { scaleDeployment, type ScaleDeploymentInput } from '../../services/scale-deployment.ts'
import { updateDeployment, type UpdateDeploymentInput } from '../../services/update-deployment.ts'
import { ANYWAY, json, problems } from '../answers.ts'
import { readJsonObject } from '../request-checks.ts'
import { DEPLOYMENT_CHANGE, DEPLOYMENT_INPUT, DEPLOYMENT_SCALE } from '../resources/deployment-input.ts'
import { DeploymentResource, toDeployment } from '../resources/deployment.resource.ts'
import { camelCase, renamed } from '../resources/snake-case.ts'
import type { RestApp } from '../rest-app.ts'
import { DeploymentIdParameter } from './parameters.ts'

const BODY_PROBLEMS = ['MALFORMED_REQUEST', 'REQUEST_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const
const CHANGE_PROBLEMS = ['DEPLOYMENT_NOT_FOUND', 'DEPLOYMENT_DESTROYED'] as const

function body(schema: { reference: { $ref: string } }, example: object) {
  return { required: true, content: { 'application/json': { schema: schema.reference, example } } }
}

const create = createRoute({
  method: 'post',
  path: '/v2/deployments',
  operationId: 'createDeployment',
  summary: 'Create a deployment',
  description: 'Idempotent by `creation_id`: the same again answers with the deployment that there is.',
  tags: ['deployments'],
  request: {
    body: body(DEPLOYMENT_INPUT, {
      name: 'web',
      command: ['node', 'server.js'],
      replicas: 3,
      health_check: { path: '/healthz', interval: 2 },
      creation_id: 'web-2026-11-21',
    }),
  },
  responses: {
    201: json(DeploymentResource, 'It is created.'),
    200: json(DeploymentResource, 'The `creation_id` was known: this is the deployment that was created then.'),
    ...ANYWAY,
    ...problems(...BODY_PROBLEMS, 'PROJECT_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'NAME_TAKEN', 'QUOTA_EXCEEDED'),
  },
})

export function serveCreateDeployment(app: RestApp): void {
  app.openapi(create, async (c) => {
    const context = c.get('context')
    const input = renamed(await readJsonObject(c.req.raw), camelCase) as CreateDeploymentInput
    const { deploymentId, created } = await createDeployment(context, input)
    const deployment = toDeployment(await describeDeployment(context, deploymentId))
    if (!created) return c.json(deployment, 200)
    return c.json(deployment, 201, { Location: `/v2/deployments/${deploymentId}` })
  })
}

const update = createRoute({
  method: 'patch',
  path: '/v2/deployments/{id}',
  operationId: 'updateDeployment',
  summary: 'Change what the routes of a deployment are made from',
  description: 'Adds a revision, to which the routes are brought one after the other. What is not given stays.',
  tags: ['deployments'],
  request: {
    params: DeploymentIdParameter,
    body: body(DEPLOYMENT_CHANGE, { command: ['node', 'server.js', '--fast'], health_check: { timeout: 1 } }),
  },
  responses: {
    200: json(DeploymentResource, 'The deployment, as it is now.'),
    ...ANYWAY,
    ...problems(...BODY_PROBLEMS, ...CHANGE_PROBLEMS, 'RESOURCE_GROUP_NOT_FOUND'),
  },
})

export function serveUpdateDeployment(app: RestApp): void {
  app.openapi(update, async (c) => {
    const context = c.get('context')
    const change = renamed(await readJsonObject(c.req.raw), camelCase) as Omit<UpdateDeploymentInput, 'deploymentId'>
    const { deploymentId } = await updateDeployment(context, { ...change, deploymentId: c.req.valid('param').id })
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 200)
  })
}

const scale = createRoute({
  method: 'post',
  path: '/v2/deployments/{id}/scale',
  operationId: 'scaleDeployment',
  summary: 'Say how many replicas are wanted',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter, body: body(DEPLOYMENT_SCALE, { replicas: 5 }) },
  responses: {
    200: json(DeploymentResource, 'The deployment, as it is now.'),
    ...ANYWAY,
    ...problems(...BODY_PROBLEMS, ...CHANGE_PROBLEMS),
  },
})

export function serveScaleDeployment(app: RestApp): void {
  app.openapi(scale, async (c) => {
    const context = c.get('context')
    const change = renamed(await readJsonObject(c.req.raw), camelCase) as Omit<ScaleDeploymentInput, 'deploymentId'>
    const { deploymentId } = await scaleDeployment(context, { ...change, deploymentId: c.req.valid('param').id })
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 200)
  })
}

const destroy = createRoute({
  method: 'delete',
  path: '/v2/deployments/{id}',
  operationId: 'destroyDeployment',
  summary: 'End a deployment',
  description: 'With all its routes. What it was and its history stay.',
  tags: ['deployments'],
  request: {
    params: DeploymentIdParameter,
    query: z.strictObject({ reason: z.string().optional().openapi({ description: 'Kept with the deployment.' }) }),
  },
  responses: {
    202: json(DeploymentResource, 'It is being ended.'),
    ...ANYWAY,
    ...problems(...CHANGE_PROBLEMS),
  },
})

export function serveDestroyDeployment(app: RestApp): void {
  app.openapi(destroy, async (c) => {
    const context = c.get('context')
    const { reason } = c.req.valid('query')
    const input = { deploymentId: c.req.valid('param').id, reason: reason ?? null }
    const { deploymentId } = await destroyDeployment(context, input)
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 202)
  })
}

import { createRoute } from '@hono/zod-openapi'
import { createDeployment, type CreateDeploymentInput } from '../../services/deployment/create-deployment.ts'
import { describeDeployment } from '../../services/deployment/describe-deployments.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { readJsonObject } from '../json-body.ts'
import { DEPLOYMENT_INPUT } from './deployment-input.ts'
import { DeploymentResource, toDeployment } from './deployment.resource.ts'
import { writtenInput } from '../resources/written-input.ts'
import type { RestApp } from '../rest-app.ts'
import { BODY_PROBLEMS, body } from '../routes/body.ts'

const route = createRoute({
  method: 'post',
  path: '/v2/deployments',
  operationId: 'createDeployment',
  summary: 'Create a deployment',
  description: 'Idempotent by `creation_id`: a repeated request returns the existing deployment.',
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
    201: json(DeploymentResource, 'Created.'),
    200: json(DeploymentResource, 'The `creation_id` is known: the deployment that was created with it.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'PROJECT_NOT_FOUND', 'RESOURCE_GROUP_NOT_FOUND', 'NAME_TAKEN', 'QUOTA_EXCEEDED'),
  },
})

export function serveCreateDeployment(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const input = writtenInput(await readJsonObject(c.env.incoming)) as CreateDeploymentInput
    const { deploymentId, created } = await createDeployment(context, input)
    const deployment = toDeployment(await describeDeployment(context, deploymentId))
    if (!created) return c.json(deployment, 200)
    return c.json(deployment, 201, { Location: `/v2/deployments/${deploymentId}` })
  })
}

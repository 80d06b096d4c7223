import { createRoute, z } from '@hono/zod-openapi'
import { describeDeployment } from '../../services/deployment/describe-deployments.ts'
import { destroyDeployment } from '../../services/deployment/destroy-deployment.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { DeploymentResource, toDeployment } from './deployment.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { DeploymentIdParameter } from '../routes/parameters.ts'

const route = createRoute({
  method: 'delete',
  path: '/v2/deployments/{id}',
  operationId: 'destroyDeployment',
  summary: 'End a deployment',
  description: 'Ends all its routes. The deployment and its history are kept.',
  tags: ['deployments'],
  request: {
    params: DeploymentIdParameter,
    query: z.strictObject({ reason: z.string().optional().openapi({ description: 'Kept with the deployment.' }) }),
  },
  responses: {
    202: json(DeploymentResource, 'It is being ended.'),
    ...COMMON_PROBLEMS,
    ...problems('DEPLOYMENT_NOT_FOUND', 'DEPLOYMENT_DESTROYED'),
  },
})

export function serveDestroyDeployment(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const { reason } = c.req.valid('query')
    const input = { deploymentId: c.req.valid('param').id, reason: reason ?? null }
    const { deploymentId } = await destroyDeployment(context, input)
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 202)
  })
}

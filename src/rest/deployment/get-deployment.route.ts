import { createRoute } from '@hono/zod-openapi'
import { describeDeployment } from '../../services/deployment/describe-deployments.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { DeploymentResource, toDeployment } from './deployment.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { DeploymentIdParameter } from '../routes/parameters.ts'

const route = createRoute({
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

export function serveGetDeployment(app: RestApp): void {
  app.openapi(route, async (c) => {
    return c.json(toDeployment(await describeDeployment(c.get('context'), c.req.valid('param').id)), 200)
  })
}

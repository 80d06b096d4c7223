import { createRoute } from '@hono/zod-openapi'
import { endpointsOfDeployment } from '../../services/deployment/describe-deployments.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { EndpointList, toEndpoints } from './endpoint.resource.ts'
import type { RestApp } from '../rest-app.ts'
import { DeploymentIdParameter } from '../routes/parameters.ts'

const route = createRoute({
  method: 'get',
  path: '/v2/deployments/{id}/endpoints',
  operationId: 'listEndpoints',
  summary: 'List where the healthy routes of a deployment serve',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter },
  responses: {
    200: json(EndpointList, 'All endpoints, oldest first.'),
    ...COMMON_PROBLEMS,
    ...problems('DEPLOYMENT_NOT_FOUND'),
  },
})

export function serveListEndpoints(app: RestApp): void {
  app.openapi(route, async (c) => {
    return c.json(toEndpoints(await endpointsOfDeployment(c.get('context'), c.req.valid('param').id)), 200)
  })
}

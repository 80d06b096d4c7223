import { createRoute, z } from '@hono/zod-openapi'
import { endpointsOfDeployment } from '../../services/deployment/describe-deployments.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { DeploymentIdParameter } from '../routes/parameters.ts'
import { endpointUrl } from '../../domain/deployment/discovery.ts'
import type { EndpointRow } from '../../services/deployment/read-deployments.ts'
import { time } from '../resources/fields.ts'

const EndpointList = z
  .object({
    items: z.array(
      z
        .object({
          route_id: z.uuid(),
          session_id: z.uuid(),
          host: z.string(),
          port: z.int(),
          url: z.string(),
          revision: z.int(),
          since: time(),
        })
        .openapi('Endpoint', { description: 'Where a healthy route serves.' }),
    ),
  })
  .openapi('EndpointList')

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

function toEndpoints(endpoints: readonly EndpointRow[]): z.infer<typeof EndpointList> {
  return {
    items: endpoints.map((endpoint) => ({
      route_id: endpoint.routeId,
      session_id: endpoint.sessionId,
      host: endpoint.host,
      port: endpoint.port,
      url: endpointUrl(endpoint),
      revision: endpoint.revision,
      since: endpoint.publishedAt.toISOString(),
    })),
  }
}

import { createRoute, z } from '@hono/zod-openapi'
import { type EndpointRow, endpointsOfDeployment, readDiscovery } from '../services/deployment/read-deployments.ts'
import { COMMON_PROBLEMS, json, problems } from './route-parts.ts'
import type { RestApp } from './rest-app.ts'
import { DeploymentIdParameter } from './parameters.ts'
import { endpointUrl, prometheusTargets, traefikConfiguration } from '../domain/deployment/discovery.ts'
import { time } from './fields.ts'

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
        .openapi('Endpoint', { description: 'The address on which a healthy route serves.' }),
    ),
  })
  .openapi('EndpointList')

const endpointsRoute = createRoute({
  method: 'get',
  path: '/v2/deployments/{id}/endpoints',
  operationId: 'listEndpoints',
  summary: 'List the addresses of the healthy routes of a deployment',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter },
  responses: {
    200: json(EndpointList, 'All endpoints, oldest first.'),
    ...COMMON_PROBLEMS,
    ...problems('DEPLOYMENT_NOT_FOUND'),
  },
})

const TargetGroups = z
  .array(z.object({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) }))
  .openapi('PrometheusTargets', { description: "Targets in Prometheus' format for service discovery over HTTP." })

const prometheusRoute = createRoute({
  method: 'get',
  path: '/v2/discovery/prometheus',
  operationId: 'discoverForPrometheus',
  summary: 'List healthy routes as Prometheus targets',
  description: 'For `http_sd_configs`: one group per route, of the token’s project or of all projects.',
  tags: ['discovery'],
  responses: { 200: json(TargetGroups, 'The targets; an empty list if there are none.'), ...COMMON_PROBLEMS },
})

const TraefikDynamicConfiguration = z
  .object({
    http: z
      .object({
        services: z.record(
          z.string(),
          z.object({
            loadBalancer: z.object({
              passHostHeader: z.literal(true),
              servers: z.array(z.object({ url: z.string() })).optional(),
            }),
          }),
        ),
      })
      .optional(),
  })
  .openapi('TraefikConfiguration', { description: 'Dynamic configuration of Traefik: services, without routers.' })

const traefikRoute = createRoute({
  method: 'get',
  path: '/v2/discovery/traefik',
  operationId: 'discoverForTraefik',
  summary: 'List deployments as Traefik services',
  description:
    'For the provider `http`: a service `<deployment>.<project>` for each deployment, of the token’s project or of all. Routers are not included; add your own.',
  tags: ['discovery'],
  responses: { 200: json(TraefikDynamicConfiguration, 'The dynamic configuration.'), ...COMMON_PROBLEMS },
})

export function serveDiscovery(app: RestApp): void {
  app.openapi(endpointsRoute, async (c) => {
    return c.json(toEndpoints(await endpointsOfDeployment(c.get('context'), c.req.valid('param').id)), 200)
  })
  app.openapi(prometheusRoute, async (c) => {
    return c.json(prometheusTargets(await readDiscovery(c.get('context'))), 200)
  })
  app.openapi(traefikRoute, async (c) => {
    return c.json(traefikConfiguration(await readDiscovery(c.get('context'))), 200)
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

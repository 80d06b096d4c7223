import { createRoute, z } from '@hono/zod-openapi'
import { prometheusTargets, traefikConfiguration } from '../../domain/deployment/discovery.ts'
import { readDiscovery } from '../../services/read-discovery.ts'
import { ANYWAY, json } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'

const TargetGroups = z
  .array(z.object({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) }))
  .openapi('PrometheusTargets', { description: "Prometheus' format for service discovery over HTTP." })

const prometheus = createRoute({
  method: 'get',
  path: '/v2/discovery/prometheus',
  operationId: 'discoverForPrometheus',
  summary: 'Healthy routes as targets of Prometheus',
  description: 'For `http_sd_configs`: one group per route, of the project of the token or of all.',
  tags: ['discovery'],
  responses: { 200: json(TargetGroups, 'The targets; an empty list where there are none.'), ...ANYWAY },
})

export function serveDiscoverForPrometheus(app: RestApp): void {
  app.openapi(prometheus, async (c) => {
    return c.json(prometheusTargets(await readDiscovery(c.get('context'))), 200)
  })
}

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
  .openapi('TraefikConfiguration', { description: "Traefik's dynamic configuration: services, without routers." })

const traefik = createRoute({
  method: 'get',
  path: '/v2/discovery/traefik',
  operationId: 'discoverForTraefik',
  summary: 'Deployments as services of Traefik',
  description:
    'For the provider `http`: a service `<deployment>.<project>` each, of the project of the token or of all, for routers of your own.',
  tags: ['discovery'],
  responses: { 200: json(TraefikDynamicConfiguration, 'The dynamic configuration.'), ...ANYWAY },
})

export function serveDiscoverForTraefik(app: RestApp): void {
  app.openapi(traefik, async (c) => {
    return c.json(traefikConfiguration(await readDiscovery(c.get('context'))), 200)
  })
}

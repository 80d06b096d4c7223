import { createRoute, z } from '@hono/zod-openapi'
import { traefikConfiguration } from '../../domain/deployment/discovery.ts'
import { readDiscovery } from '../../services/deployment/read-discovery.ts'
import { COMMON_PROBLEMS, json } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'

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

const route = createRoute({
  method: 'get',
  path: '/v2/discovery/traefik',
  operationId: 'discoverForTraefik',
  summary: 'Deployments as services of Traefik',
  description:
    'For the provider `http`: a service `<deployment>.<project>` per deployment, of the token’s project or of all; add your own routers.',
  tags: ['discovery'],
  responses: { 200: json(TraefikDynamicConfiguration, 'The dynamic configuration.'), ...COMMON_PROBLEMS },
})

export function serveDiscoverForTraefik(app: RestApp): void {
  app.openapi(route, async (c) => {
    return c.json(traefikConfiguration(await readDiscovery(c.get('context'))), 200)
  })
}

import { createRoute, z } from '@hono/zod-openapi'
import { prometheusTargets } from '../../domain/deployment/discovery.ts'
import { readDiscovery } from '../../services/deployment/read-discovery.ts'
import { COMMON_PROBLEMS, json } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'

const TargetGroups = z
  .array(z.object({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) }))
  .openapi('PrometheusTargets', { description: "Prometheus' format for service discovery over HTTP." })

const route = createRoute({
  method: 'get',
  path: '/v2/discovery/prometheus',
  operationId: 'discoverForPrometheus',
  summary: 'Healthy routes as targets of Prometheus',
  description: 'For `http_sd_configs`: one group per route, of the token’s project or of all projects.',
  tags: ['discovery'],
  responses: { 200: json(TargetGroups, 'The targets; an empty list where there are none.'), ...COMMON_PROBLEMS },
})

export function serveDiscoverForPrometheus(app: RestApp): void {
  app.openapi(route, async (c) => {
    return c.json(prometheusTargets(await readDiscovery(c.get('context'))), 200)
  })
}

import { z } from '@hono/zod-openapi'
import { endpointUrl } from '../../domain/deployment/discovery.ts'
import type { EndpointRow } from '../../services/deployment/read-deployments.ts'
import { time } from '../resources/fields.ts'

export const EndpointList = z
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

export function toEndpoints(endpoints: readonly EndpointRow[]): z.infer<typeof EndpointList> {
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

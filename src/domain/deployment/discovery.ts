/**
 * Writes the services for discovery by Prometheus and Traefik. Equal services give equal text, so that a consumer sees
 * a change only if something has changed.
 */

export interface ServiceEndpoint {
  routeId: string
  host: string
  port: number
  sessionId: string
  revision: number
}

export interface Service {
  deploymentId: string
  name: string
  project: string
  labels: Readonly<Record<string, string>>
  endpoints: readonly ServiceEndpoint[]
}

/** Writes IPv6 addresses in brackets. */
export function hostAndPort({ host, port }: Pick<ServiceEndpoint, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

export function endpointUrl(endpoint: Pick<ServiceEndpoint, 'host' | 'port'>): string {
  return `http://${hostAndPort(endpoint)}`
}

export interface TargetGroup {
  targets: string[]
  labels: Record<string, string>
}

/**
 * Groups of targets in Prometheus' format for HTTP and file discovery. Each route has its own group, because each route
 * has its own session. Labels that begin with `__meta_` can be used for relabelling and are dropped afterwards.
 */
export function prometheusTargets(services: readonly Service[]): TargetGroup[] {
  return services.flatMap(({ deploymentId, name, project, labels, endpoints }) =>
    endpoints.map((endpoint) => ({
      targets: [hostAndPort(endpoint)],
      labels: {
        project,
        deployment: name,
        __meta_reprise_deployment_id: deploymentId,
        __meta_reprise_revision: String(endpoint.revision),
        __meta_reprise_route_id: endpoint.routeId,
        __meta_reprise_session_id: endpoint.sessionId,
        ...Object.fromEntries(
          Object.entries(labels).map(([key, value]) => [`__meta_reprise_label_${labelName(key)}`, value]),
        ),
      },
    })),
  )
}

export interface TraefikConfiguration {
  http?: {
    services: Record<string, { loadBalancer: { passHostHeader: true; servers?: { url: string }[] } }>
  }
}

/**
 * Traefik's dynamic configuration: one service `<deployment>.<project>` per deployment, for routers that the operator
 * writes. Traefik rejects a document that contains an empty object or list, and keeps the previous document; so empty
 * objects and lists are left out. A service without servers answers 503.
 */
export function traefikConfiguration(services: readonly Service[]): TraefikConfiguration {
  if (services.length === 0) return {}
  return {
    http: {
      services: Object.fromEntries(
        services.map(({ name, project, endpoints }) => {
          const servers = endpoints.map((endpoint) => ({ url: endpointUrl(endpoint) }))
          const loadBalancer = { passHostHeader: true as const, ...(servers.length > 0 && { servers }) }
          // Traefik would read an @ as the separator between a service and its provider.
          return [`${name}.${encodeURIComponent(project)}`, { loadBalancer }]
        }),
      ),
    },
  }
}

/** Replaces the characters that Prometheus does not allow in a label name. */
function labelName(key: string): string {
  return key.replaceAll(/[^A-Za-z0-9_]/g, '_')
}

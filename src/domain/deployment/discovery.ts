/** What service discovery says, in the formats of those who read it. The same services give the same text. */

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

/** The address of an IPv6 machine stands in brackets. */
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
 * Prometheus' format for discovery over HTTP and by file: groups of targets, each here of one route, since each has a
 * session of its own. Labels that begin with `__meta_` are for relabelling, and gone after that.
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

/** What Prometheus takes in the name of a label. */
function labelName(key: string): string {
  return key.replaceAll(/[^A-Za-z0-9_]/g, '_')
}

export interface TraefikConfiguration {
  http?: {
    services: Record<string, { loadBalancer: { passHostHeader: true; servers?: { url: string }[] } }>
  }
}

/**
 * Traefik's dynamic configuration: a service `<deployment>.<project>` each, for routers that its operator writes. Traefik
 * refuses a whole document in which any object or list is empty, and goes on with the one before: there is none here.
 * A service without servers answers 503.
 */
export function traefikConfiguration(services: readonly Service[]): TraefikConfiguration {
  if (services.length === 0) return {}
  return {
    http: {
      services: Object.fromEntries(
        services.map(({ name, project, endpoints }) => {
          const servers = endpoints.map((endpoint) => ({ url: endpointUrl(endpoint) }))
          const loadBalancer = { passHostHeader: true as const, ...(servers.length > 0 && { servers }) }
          // An @ would stand between a service and its provider.
          return [`${name}.${encodeURIComponent(project)}`, { loadBalancer }]
        }),
      ),
    },
  }
}

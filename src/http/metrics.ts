import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQL } from '../graphql/graphql.ts'
import type { Metrics } from '../observability/metrics.ts'
import { respond } from './respond.ts'

export interface MetricsPage {
  render: () => Promise<string>
  /** Whether it is shown without a token. */
  public: boolean
}

const MAY_READ: readonly string[] = ['ADMIN', 'VIEWER']

export async function answerMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  page: MetricsPage,
  identify: GraphQL['identify'],
): Promise<void> {
  if (!page.public) {
    const identity = await identify(request.headers.authorization)
    if ('refusal' in identity) return respond(response, identity.status, 'text/plain', `${identity.refusal}\n`)
    if (!MAY_READ.includes(identity.role))
      return respond(response, 403, 'text/plain', 'The role of the token does not allow it.\n')
  }
  respond(response, 200, 'text/plain; version=0.0.4; charset=utf-8', await page.render())
}

/** Paths as there are routes: what clients make up is one. */
const ROUTES: readonly string[] = [
  '/',
  '/graphql',
  '/healthz',
  '/readyz',
  '/metrics',
  '/agent/v1/register',
  '/agent/v1/sync',
]
const METHODS: readonly string[] = ['GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE']

/** Counts and times the request when its answer is out, or its client has gone. */
export function measureRequest(
  { requests, streams }: Pick<Metrics, 'requests' | 'streams'>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const begun = performance.now()
  const path = request.url!.split('?', 1)[0]!
  const route = ROUTES.includes(path) ? path : 'other'
  const method = METHODS.includes(request.method!) ? request.method! : 'other'
  response.once('close', () => {
    if (String(response.getHeader('content-type')).startsWith('text/event-stream')) return streams.inc({ route })
    requests.observe({ route, method, status: String(response.statusCode) }, (performance.now() - begun) / 1000)
  })
}

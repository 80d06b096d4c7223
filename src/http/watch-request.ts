import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Span, Tracer } from '../observability/trace.ts'
import { pathOf } from './request-head.ts'

/** The paths that become labels; all others are counted as one, since clients can make up any number of them. */
const ROUTES: readonly string[] = [
  '/',
  '/graphql',
  '/healthz',
  '/readyz',
  '/metrics',
  '/agent/v1/register',
  '/agent/v1/sync',
  '/v2/openapi.json',
  '/v2/sessions',
]
const SESSION = /^\/v2\/sessions\/[^/]+(\/attempts)?$/
const METHODS: readonly string[] = ['GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE']
/** Only API requests are traced: the polls of probes, scrapers and agents would outnumber them. */
const TRACED = /^\/(graphql$|v2\/)/

/**
 * Counts, times, logs and traces a request until its response is sent or its client has disconnected.
 *
 * @returns the span in which the request is to be served; null if it is not traced
 */
export function watchRequest(
  context: { metrics: Pick<Metrics, 'requests' | 'streams'>; log: Logger; trace: Tracer },
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): Span | null {
  const { metrics, log } = context
  const begun = performance.now()
  const route = routeOf(pathOf(request))
  const method = METHODS.includes(request.method!) ? request.method! : 'other'
  const span = TRACED.test(route) ? beginSpan(context.trace, { route, method, requestId, request }) : null
  response.once('close', () => {
    const { statusCode: status } = response
    const seconds = (performance.now() - begun) / 1000
    if (String(response.getHeader('content-type')).startsWith('text/event-stream')) metrics.streams.inc({ route })
    else metrics.requests.observe({ route, method, status: String(status) }, seconds)
    if (log.isLevelEnabled('debug')) {
      const facts = { requestId, method, route, status, durationMs: Math.round(seconds * 1000) }
      log.debug(facts, response.writableFinished ? 'request answered' : 'the client disconnected before the response')
    }
    span?.note({ 'http.response.status_code': status })
    span?.end({ failed: status >= 500 })
  })
  return span
}

function routeOf(path: string): string {
  if (ROUTES.includes(path)) return path
  const session = SESSION.exec(path)
  return session ? `/v2/sessions/{id}${session[1] ?? ''}` : 'other'
}

function beginSpan(
  trace: Tracer,
  { route, method, requestId, request }: { route: string; method: string; requestId: string; request: IncomingMessage },
): Span | null {
  return trace.beginRequest(`${method} ${route}`, request.headers['traceparent'] as string | undefined, {
    'http.request.method': method,
    'http.route': route,
    'url.path': pathOf(request),
    'reprise.request.id': requestId,
  })
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Span, Tracer } from '../observability/trace.ts'
import { pathOf } from './http-messages.ts'
import type { RouteTable } from './route-table.ts'

/** Routes that are traced: the API, without probes, scrapers and agents, which would outnumber it. */
const TRACED = /^\/(graphql$|v2\/)/

/**
 * Counts, times, logs and traces a request until its response is sent or its client has disconnected.
 *
 * @returns the span of the request; null if it is not traced
 */
export function watchRequest(
  context: { metrics: Pick<Metrics, 'requests' | 'streams'>; log: Logger; trace: Tracer; routes: RouteTable },
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): Span | null {
  const { metrics, log, routes } = context
  const begun = performance.now()
  const route = routes.routeOf(pathOf(request))
  const method = routes.methodOf(request.method!)
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

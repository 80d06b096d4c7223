import {
  HTTP_CHECK_INTERVAL_MS,
  HTTP_HEADERS_WITHIN_MS,
  HTTP_REQUEST_WITHIN_MS,
  HTTP_STALLED_AFTER_MS,
} from '../domain/limits.ts'

/** How slow clients may be, of all that comes over HTTP. WebSockets have their pings instead. */
export interface RequestLimits {
  /** For all headers of a request. */
  headersWithinMs: number
  /** For the whole of it. */
  requestWithinMs: number
  /** Without a byte in either direction while a request is under way: who takes no events is cut off. */
  stalledAfterMs: number
}

export const REQUEST_LIMITS: RequestLimits = {
  headersWithinMs: HTTP_HEADERS_WITHIN_MS,
  requestWithinMs: HTTP_REQUEST_WITHIN_MS,
  stalledAfterMs: HTTP_STALLED_AFTER_MS,
}

/** For `createServer`. */
export function serverOptions({ headersWithinMs, requestWithinMs }: RequestLimits) {
  return {
    headersTimeout: headersWithinMs,
    requestTimeout: requestWithinMs,
    connectionsCheckingInterval: Math.min(HTTP_CHECK_INTERVAL_MS, headersWithinMs),
  }
}

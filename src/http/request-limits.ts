/** How slow clients may be, of all that comes over HTTP. WebSockets have their pings instead. */
export interface RequestLimits {
  /** For all headers of a request. */
  headersWithinMs: number
  /** For the whole of it. */
  requestWithinMs: number
  /** Without a byte in either direction: who takes nothing of its answer is cut off within twice that. */
  stalledAfterMs: number
}

export const REQUEST_LIMITS: RequestLimits = {
  // They come in one packet or a few; whoever says them byte by byte holds a socket for nothing.
  headersWithinMs: 15_000,
  // The largest request at half a megabit per second.
  requestWithinMs: 120_000,
  // Five pings of an event stream: a client that has taken none of them takes nothing any more.
  stalledAfterMs: 60_000,
}

/** How often connections are looked at for the first two. */
const CHECK_INTERVAL_MS = 5_000

/** For `createServer`. */
export function serverOptions({ headersWithinMs, requestWithinMs }: RequestLimits) {
  return {
    headersTimeout: headersWithinMs,
    requestTimeout: requestWithinMs,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersWithinMs),
  }
}

/** How slow HTTP clients may be. WebSockets have pings instead. */
export interface RequestLimits {
  /** For receiving all headers of a request. */
  headersWithinMs: number
  /** For receiving the whole request. */
  requestWithinMs: number
  /**
   * For a connection without a byte in either direction. A client that does not read its response is disconnected
   * within twice this time.
   */
  stalledAfterMs: number
  /** The same for a connection that has not shown a valid token, and whose client does not read its response. */
  strangerStalledAfterMs?: number
}

export const REQUEST_LIMITS: RequestLimits = {
  // Headers arrive in one packet or a few; a client that sends them byte by byte only occupies a socket.
  headersWithinMs: 15_000,
  // The largest request at half a megabit per second.
  requestWithinMs: 120_000,
  // Five pings of an event stream: a client that has read none of them is gone.
  stalledAfterMs: 60_000,
}

/** How often the first two limits are checked. */
const CHECK_INTERVAL_MS = 5_000

/** The options for `createServer`. */
export function serverOptions({ headersWithinMs, requestWithinMs }: RequestLimits) {
  return {
    headersTimeout: headersWithinMs,
    requestTimeout: requestWithinMs,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersWithinMs),
    // Checked by `hostFault`: Node would answer at once, whatever waits before it.
    requireHostHeader: false,
  }
}

import type { Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'

/** Time limits for HTTP clients. WebSockets have pings instead. */
export interface RequestLimits {
  /** Time to receive all headers of a request. */
  headersWithinMs: number
  /** Time to receive the whole request. */
  requestWithinMs: number
  /**
   * Time that a connection may have without a byte in either direction. A client that does not read its response is
   * disconnected within twice this time.
   */
  stalledAfterMs: number
  /** The same time for a client that does not read its response and has not shown a valid token. */
  strangerStalledAfterMs?: number
  /**
   * Time that a connection stays open between requests. A request that arrives while the server closes its connection
   * is lost, so connections that have shown a valid token stay open for longer than proxies and clients reuse them: 60 s
   * at most, by their defaults.
   */
  idleMs?: { known: number; strangers: number }
}

const IDLE_MS = { known: 75_000, strangers: 5_000 }

export const REQUEST_LIMITS: RequestLimits = {
  // Headers arrive in one packet or a few; a client that sends them byte by byte only occupies a socket.
  headersWithinMs: 15_000,
  // Enough for the largest request at half a megabit per second.
  requestWithinMs: 120_000,
  // The time of five pings of an event stream.
  stalledAfterMs: 60_000,
}

/** Interval at which the first two limits are checked. */
const CHECK_INTERVAL_MS = 5_000

/** Returns the options for `createServer`. */
export function serverOptions({ headersWithinMs, requestWithinMs, idleMs = IDLE_MS }: RequestLimits) {
  return {
    keepAliveTimeout: idleMs.strangers,
    headersTimeout: headersWithinMs,
    requestTimeout: requestWithinMs,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersWithinMs),
    // `hostFault` checks it instead: Node would answer before earlier requests of the connection.
    requireHostHeader: false,
  }
}

/** Keeps the connections of clients with a valid token open for their next request. */
export function keepKnownOpen(
  server: Server | TlsServer,
  { idleMs = IDLE_MS }: RequestLimits,
  isKnown: (socket: object) => boolean,
): void {
  server.on('request', ({ socket }, response) => {
    // Node sets the time for strangers in an earlier listener, and resets it at the next request.
    response.once('finish', () => isKnown(socket) && socket.setTimeout(idleMs.known))
  })
}

const CHECKS_PER_LIMIT = 2

/** The state of an open response whose client has something to read. */
interface Waiting {
  takenBytes: number
  since: number
}

/**
 * Destroys the connections of clients that read nothing of their response, within one to one and a half times the limit
 * that applies to them. The socket's own timeout is not enough, because the GraphQL server disables it. A response with
 * nothing to read yet, such as an event stream, does not count, and neither does a slow reader with a valid token.
 * @param isKnown whether the connection has shown a valid token
 */
export function cutOffSlowReaders(
  server: Server | TlsServer,
  limits: RequestLimits,
  isKnown: (socket: object) => boolean,
): void {
  const { stalledAfterMs, strangerStalledAfterMs = stalledAfterMs } = limits
  const open = new Map<ServerResponse, Waiting | undefined>()

  function check(response: ServerResponse, waiting: Waiting | undefined): void {
    const { socket } = response
    // Requests that wait for their turn have no socket yet.
    if (!socket || !(response.writableNeedDrain || (response.writableEnded && socket.writableLength > 0))) {
      open.set(response, undefined)
      return
    }
    const takenBytes = socket.bytesWritten - queuedBytes(socket)
    const now = performance.now()
    if (waiting?.takenBytes !== takenBytes) open.set(response, { takenBytes, since: now })
    else if (now - waiting.since >= (isKnown(socket) ? stalledAfterMs : strangerStalledAfterMs)) socket.destroy()
  }

  const interval = Math.min(stalledAfterMs, strangerStalledAfterMs) / CHECKS_PER_LIMIT
  const timer = setInterval(() => {
    for (const [response, waiting] of open) check(response, waiting)
  }, interval).unref()

  server.on('request', (_request, response) => {
    open.set(response, undefined)
    response.once('close', () => open.delete(response))
  })
  server.on('close', () => clearInterval(timer))
}

/** Returns the number of bytes that the system has not yet taken: a large response is one write, taken in parts. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}

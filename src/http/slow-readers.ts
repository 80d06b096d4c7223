import type { Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { RequestLimits } from './request-limits.ts'

const CHECKS_PER_LIMIT = 2

/** An open response whose client has something to read. */
interface Waiting {
  takenBytes: number
  since: number
}

/**
 * Destroys the connections of clients that read nothing of their response, within one to one and a half times the limit
 * that holds for them. The socket's own timeout is not enough, because the GraphQL server disables it. A response with
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

/** Of what has been handed to the system, what it has not taken: a large answer is one write that goes in parts. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}

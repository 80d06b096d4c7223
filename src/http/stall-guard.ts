import type { Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'

/**
 * Destroys the connections of clients that do not read their response, within one to two times `afterMs`. The socket's
 * own timeout is not enough, because the GraphQL server disables it.
 */
export function guardAgainstStalls(server: Server | TlsServer, afterMs: number): void {
  /** Open responses, each with the bytes its socket had written at the last check, if it was waiting to drain then. */
  const open = new Map<ServerResponse, number | undefined>()

  const timer = setInterval(() => {
    for (const [response, written] of open) {
      const { socket, writableNeedDrain } = response
      if (!socket || !writableNeedDrain) open.set(response, undefined)
      else if (socket.bytesWritten === written) socket.destroy()
      else open.set(response, socket.bytesWritten)
    }
  }, afterMs).unref()

  server.on('request', (_request, response) => {
    open.set(response, undefined)
    response.once('close', () => open.delete(response))
  })
  server.on('close', () => clearInterval(timer))
}

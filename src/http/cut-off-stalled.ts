import type { ServerResponse } from 'node:http'

/**
 * Destroys the connection of an answer that the client takes nothing of, within one to two times `afterMs`. The
 * time-out of the socket itself does not do: what serves GraphQL switches it off.
 */
export function cutOffStalled(response: ServerResponse, afterMs: number): void {
  let written: number | undefined
  const timer = setInterval(() => {
    const { socket, writableNeedDrain } = response
    if (!socket || !writableNeedDrain) written = undefined
    else if (socket.bytesWritten === written) socket.destroy()
    else written = socket.bytesWritten
  }, afterMs).unref()
  response.once('close', () => clearInterval(timer))
}

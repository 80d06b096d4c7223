import type { ServerResponse } from 'node:http'

/**
 * Destroys the connection of a response that the client does not read, within one to two times `afterMs`. The
 * socket's own timeout is not enough: the GraphQL server switches it off.
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

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A component that serves some paths of the HTTP server. */
export interface Mount {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  /** Takes over the socket. @returns false if it upgrades nothing at the request's path */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** The server is closing: waiting requests are answered at once. */
  end(): void
}

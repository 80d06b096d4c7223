import type { IncomingMessage, ServerResponse } from 'node:http'

/** A component that serves some paths of the HTTP server. */
export interface Mount {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  /** The server is closing: waiting requests are answered at once. */
  end(): void
}

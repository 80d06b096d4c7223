import type { IncomingMessage, ServerResponse } from 'node:http'

/** What is served beside GraphQL by a part of its own. */
export interface Mount {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  /** The server closes: what waits is answered at once. */
  end(): void
}

import { createClientOn, type Client, type ClientOptions } from './client.ts'
import { createConnection } from './connection/create-connection.ts'

export * from './exports.ts'

/**
 * Creates a client for browsers and any platform with `fetch` and `WebSocket`. It reads no environment and no files.
 */
export function createClient(options: ClientOptions): Client {
  return createClientOn(createConnection(options))
}

import { createClientOn, type Client, type ClientOptions } from './client.ts'
import { createConnection } from './connection/create-connection.ts'

export * from './exports.ts'

/** For browsers and any platform with `fetch` and `WebSocket`; reads no environment and no files. */
export function createClient(options: ClientOptions): Client {
  return createClientOn(createConnection(options))
}

import { createConnection, type Connection } from '../../client/connection.ts'
import { resolveRetry } from '../../client/retry/retry-config.ts'
import { resolveTimeouts } from '../../client/retry/timeouts.ts'
import { serverUrl } from '../../client/server-url.ts'
import { createFetchTransport } from '../../client/transport/fetch-transport.ts'

const timeouts = resolveTimeouts(undefined)

/** To the server that this page came from. The browser sends the session's cookie along. */
export const connection: Connection = createConnection({
  urls: [serverUrl(location.origin)],
  token: undefined,
  retry: resolveRetry({ network: { stopAfterSeconds: 15 } }),
  timeouts,
  transport: createFetchTransport({ fetch, timeouts }),
  webSocket: WebSocket,
  onProgress: undefined,
})

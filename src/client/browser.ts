import { createClientOn, type Client, type ClientOptions } from './client.ts'
import { ClientConfigurationError } from './errors.ts'
import { resolveRetry } from './retry/retry-config.ts'
import { resolveTimeouts } from './retry/timeouts.ts'
import { serverUrl } from './server-url.ts'
import { createFetchTransport } from './transport/fetch-transport.ts'

export * from './exports.ts'

/** For browsers and any platform with `fetch` and `WebSocket`; reads no environment and no files. */
export function createClient(options: ClientOptions): Client {
  const urls = options.urls ?? (options.url === undefined ? [] : [options.url])
  if (urls.length === 0) throw new ClientConfigurationError('createClient needs a url')
  const timeouts = resolveTimeouts(options.timeouts)
  return createClientOn({
    urls: urls.map(serverUrl),
    token: options.token,
    retry: resolveRetry(options.retry),
    timeouts,
    transport: createFetchTransport({ fetch: options.fetch ?? fetch, timeouts }),
    webSocket: options.webSocket ?? WebSocket,
    onProgress: options.onProgress,
  })
}

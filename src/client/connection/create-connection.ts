import { type Connection, createConnectionOn } from './connection.ts'
import { ClientConfigurationError } from '../errors.ts'
import { type OnProgress, resolveRetry, resolveTimeouts, type RetryOptions, type TimeoutOptions } from '../settings.ts'
import { serverUrl } from '../transport/endpoints.ts'
import type { WebSocketClass } from '../streams/event-socket.ts'
import { createFetchTransport } from '../transport/fetch-transport.ts'

/** `reprise/client/connection`: for programs with operations of their own, on any platform. Has none itself. */
export * from '../errors.ts'
export type { CallOptions, Connection, Document, RequestOptions } from './connection.ts'
export type { OnProgress, Progress } from '../settings.ts'
export type { HttpRetry, NetworkRetry, ReconnectRetry, RetryConfig, RetryOptions } from '../settings.ts'
export type { TimeoutOptions, Timeouts } from '../settings.ts'

export interface ConnectionOptions {
  /** The server's address: `http://127.0.0.1:4000`. */
  url?: string
  /** Several servers on one database, tried in this order. */
  urls?: readonly string[]
  token?: string
  /**
   * Replaces the token on pages of the server's own origin: returns the key that the web UI has made at login, or null if
   * nobody has logged in. It is called for each request.
   */
  browserKey?: () => string | null
  /** False switches everything off. */
  retry?: RetryOptions | false
  timeouts?: TimeoutOptions
  fetch?: typeof fetch
  /** Node 20 has none of its own. */
  webSocket?: WebSocketClass
  onProgress?: OnProgress
}

/** Over the platform's `fetch` and `WebSocket`; reads no environment and no files. @throws ClientConfigurationError */
export function createConnection(options: ConnectionOptions): Connection {
  const urls = options.urls ?? (options.url === undefined ? [] : [options.url])
  if (urls.length === 0) throw new ClientConfigurationError('A connection needs a url')
  const timeouts = resolveTimeouts(options.timeouts)
  return createConnectionOn({
    urls: urls.map(serverUrl),
    token: options.token,
    browserKey: options.browserKey,
    retry: resolveRetry(options.retry),
    timeouts,
    transport: createFetchTransport({ fetch: options.fetch ?? fetch, timeouts }),
    webSocket: options.webSocket ?? globalThis.WebSocket,
    onProgress: options.onProgress,
  })
}

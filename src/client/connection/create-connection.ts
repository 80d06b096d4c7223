import { type Connection, createConnectionOn } from './connection.ts'
import { ClientConfigurationError } from '../errors.ts'
import { type OnProgress, resolveRetry, resolveTimeouts, type RetryOptions, type TimeoutOptions } from '../settings.ts'
import { serverUrl } from '../transport/endpoints.ts'
import type { WebSocketClass } from '../streams/event-socket.ts'
import { createFetchTransport } from '../transport/fetch-transport.ts'

/** `reprise/client/connection`: the entry for programs that need no operations of this package, on any platform. */
export * from '../errors.ts'
export type { CallOptions, Connection, Document, RequestOptions } from './connection.ts'
export type { OnProgress, Progress } from '../settings.ts'
export type { HttpRetry, NetworkRetry, ReconnectRetry, RetryConfig, RetryOptions } from '../settings.ts'
export type { TimeoutOptions, Timeouts } from '../settings.ts'

export interface ConnectionOptions {
  /** Address of the server, such as `http://127.0.0.1:4000`. */
  url?: string
  /** Addresses of several servers on one database, tried in this order. */
  urls?: readonly string[]
  token?: string
  /**
   * Replaces the token on pages of the server's own origin: returns the key that the web UI created at login, or null
   * if nobody has logged in. It is called for each request.
   */
  browserKey?: () => string | null
  /** False switches off all retries. */
  retry?: RetryOptions | false
  timeouts?: TimeoutOptions
  fetch?: typeof fetch
  /** Class of WebSockets, for platforms without one such as Node 20. */
  webSocket?: WebSocketClass
  onProgress?: OnProgress
}

/**
 * Creates a connection over the platform's `fetch` and `WebSocket`. It reads no environment and no files. @throws
 * ClientConfigurationError
 */
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
    webSocket: () => options.webSocket ?? globalThis.WebSocket,
    onProgress: options.onProgress,
  })
}

/// <reference lib="esnext.disposable" preserve="true" />
import { chainOperations } from './chain.ts'
import { administrationOperations } from './administration.ts'
import { createConnection, type ConnectionSettings, type Document, type RequestOptions } from './connection.ts'
import { deploymentOperations } from './deployments.ts'
import { eventOperations } from './events.ts'
import { logOperations } from './logs.ts'
import { resubmissionOperations } from './resubmissions.ts'
import { retryOperations } from './retries.ts'
import { sessionOperations } from './sessions.ts'
import { tokenOperations } from './tokens.ts'
import { webhookOperations } from './webhooks.ts'
import type { OnProgress } from './progress.ts'
import type { RetryOptions } from './retry/retry-config.ts'
import type { TimeoutOptions } from './retry/timeouts.ts'
import type { WebSocketClass } from './streams/event-socket.ts'

export interface ClientOptions {
  /** Of the server: `http://127.0.0.1:4000`. */
  url?: string
  /** Several servers on one database, tried in this order. */
  urls?: readonly string[]
  token?: string
  /** False switches everything off. */
  retry?: RetryOptions | false
  timeouts?: TimeoutOptions
  fetch?: typeof fetch
  webSocket?: WebSocketClass
  onProgress?: OnProgress
}

export type Client = ReturnType<typeof createClientOn>

/** The client over a given transport and WebSocket. */
export function createClientOn(settings: ConnectionSettings) {
  const connection = createConnection(settings)
  return {
    ...sessionOperations(connection),
    ...retryOperations(connection),
    ...resubmissionOperations(connection),
    ...administrationOperations(connection),
    ...deploymentOperations(connection),
    ...eventOperations(connection),
    ...chainOperations(connection),
    ...logOperations(connection),
    ...tokenOperations(connection),
    ...webhookOperations(connection),

    /** The servers, in the order in which they are tried. */
    urls: connection.urls.map(({ href }) => href),

    /**
     * Any query or mutation. A query is repeated as configured, a mutation only if it is `idempotent`.
     * @throws ApiError, HttpStatusError, ConnectionError, the signal's reason
     */
    request<Result = unknown, Variables extends object = Record<string, unknown>>(
      document: Document<Result, Variables>,
      variables?: Variables,
      options?: RequestOptions,
    ): Promise<Result> {
      return connection.request(document, variables ?? ({} as Variables), options)
    },

    /** Ends everything in progress: calls and iterators throw ClientClosedError. */
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core'
import type { DocumentNode } from 'graphql'
import { print } from 'graphql/language/printer.js'
import { credentialsOf, type Transport } from '../transport/transport.ts'
import { describeDocument, describeSubscription } from './describe-document.ts'
import { ClientClosedError, ClientConfigurationError, HttpStatusError } from '../errors.ts'
import type { OnProgress, RetryConfig, Timeouts } from '../settings.ts'
import { closeable } from '../streams/closeable.ts'
import { createEventSocket, type WebSocketClass } from '../streams/event-socket.ts'
import { follow } from '../streams/follow.ts'
import { createEndpoints } from '../transport/endpoints.ts'
import { fileOperation, graphqlOperation, restOperation, type RestRequest } from '../transport/requests.ts'
import { sendOperation } from '../transport/send-operation.ts'

/** A typed document of any generator, as a node or as text, or the text of an operation. */
export type Document<Result, Variables> = DocumentTypeDecoration<Result, Variables> | DocumentNode | string

export interface CallOptions {
  /** When it aborts, the call throws its reason at once. */
  signal?: AbortSignal
  /** Called in addition to the client's own `onProgress`. */
  onProgress?: OnProgress
}

export interface RequestOptions extends CallOptions {
  /**
   * True if the mutation has the same effect when it reaches the server twice. Not needed for queries, which may always
   * be repeated.
   */
  idempotent?: boolean
}

export interface ConnectionSettings {
  /** Addresses of the servers, tried in this order. */
  urls: readonly URL[]
  token: string | undefined
  browserKey?: (() => string | null) | undefined
  retry: RetryConfig
  timeouts: Timeouts
  transport: Transport
  /** Called for the first subscription. */
  webSocket: () => WebSocketClass | Promise<WebSocketClass>
  onProgress: OnProgress | undefined
}

/** A connection: sends all operations of a client. */
export interface Connection {
  readonly urls: readonly URL[]
  /**
   * Sends any query or mutation. A query is repeated as configured, a mutation only if it is `idempotent`.
   * @throws ApiError, also if only a part of the data is missing: `data` has the rest, and `faults` explain the missing
   * part; HttpStatusError; ConnectionError; the signal's reason
   */
  request<Result = unknown, Variables extends object = Record<string, unknown>>(
    document: Document<Result, Variables>,
    variables?: Variables,
    options?: RequestOptions,
  ): Promise<Result>
  /**
   * Sends a request of the REST API that has the same effect when it reaches the server twice.
   * @throws ApiError, HttpStatusError; ConnectionError; the signal's reason
   */
  rest<Result = unknown>(request: RestRequest, options?: CallOptions): Promise<Result>
  /**
   * Reads a file of the REST API, and hands its bytes to `write` in their order. If the connection breaks, it continues
   * where it ended, as long as the file is still the same by its `etag`.
   *
   * @param from offset of the first byte to read
   * @throws ApiError, HttpStatusError; ConnectionError; errors of `write`; the signal's reason
   */
  download(
    file: { name: string; path: string; from?: number; etag?: string },
    write: (chunk: Uint8Array) => Promise<void>,
    options?: CallOptions,
  ): Promise<void>
  /**
   * Opens any subscription, and yields each event once and in order, across connections and servers. It must select
   * `cursor`, and its field's argument `after` must be a variable. The variable begins as the `eventCursor` that was
   * read with the displayed data; the connection then updates it. `kernelLogs` may begin without a cursor. `variables`
   * may be a function, called when the first event is requested.
   * @throws ApiError, the signal's reason; ConnectionLostError if reconnecting is off
   */
  stream<Result = unknown, Variables extends object = Record<string, unknown>>(
    document: Document<Result, Variables>,
    variables: Variables | ((signal: AbortSignal) => Promise<Variables>),
    options?: CallOptions,
  ): AsyncIterableIterator<Result>
  /** Aborts when the connection is closed. */
  readonly closed: AbortSignal
  /** Ends everything in progress: calls and iterators throw ClientClosedError. */
  close(): Promise<void>
}

export function createConnectionOn(settings: ConnectionSettings): Connection {
  const { urls, retry, timeouts, transport, webSocket } = settings
  const credentials = credentialsOf(settings)
  const endpoints = createEndpoints(urls, () => performance.now())
  const socket = createEventSocket({ webSocket, endpoints, timeouts, credentials })
  const closed = new AbortController()

  function progressTo(own: OnProgress | undefined): OnProgress | undefined {
    const { onProgress } = settings
    if (!onProgress || !own) return own ?? onProgress
    return (progress) => {
      onProgress(progress)
      own(progress)
    }
  }

  function untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([closed.signal, signal]) : closed.signal
  }

  return {
    urls,
    closed: closed.signal,
    async request<Result, Variables extends object>(
      document: Document<Result, Variables>,
      variables?: Variables,
      { signal, onProgress, idempotent = false }: RequestOptions = {},
    ) {
      const text = textOf(document)
      const { kind, name } = describeDocument(text)
      if (kind === 'subscription') throw new ClientConfigurationError('A subscription is not a request: use `stream`')
      const data = await sendOperation(
        { transport, endpoints, retry, credentials },
        graphqlOperation({
          name,
          text,
          variables: variables ?? {},
          repeatable: kind === 'query' || idempotent,
          signal: untilClosed(signal),
          onProgress: progressTo(onProgress),
        }),
      )
      return data as Result
    },
    async rest<Result>(request: RestRequest, { signal, onProgress }: CallOptions = {}) {
      const told = { signal: untilClosed(signal), onProgress: progressTo(onProgress) }
      return (await sendOperation(
        { transport, endpoints, retry, credentials },
        restOperation({ ...request, ...told }),
      )) as Result
    },
    async download({ name, path, from = 0, etag }, write, { signal, onProgress } = {}) {
      let received = from
      /** The first byte that the current try asks for. */
      let begin = from
      const headers = (): Record<string, string> => {
        begin = received
        return begin === 0 ? {} : { range: `bytes=${begin}-`, ...(etag !== undefined && { 'if-range': etag }) }
      }
      const sink = async (chunk: Uint8Array, status: number) => {
        if (begin > 0 && status === 200)
          throw new HttpStatusError(
            status,
            `The server does not continue ${path}: it has changed, or a proxy prevents it`,
          )
        await write(chunk)
        received += chunk.length
      }
      const told = { signal: untilClosed(signal), onProgress: progressTo(onProgress) }
      await sendOperation(
        { transport, endpoints, retry, credentials },
        fileOperation({ name, path, headers, sink, ...told }),
      )
    },
    stream<Result, Variables extends object>(
      document: Document<Result, Variables>,
      variables: Variables | ((signal: AbortSignal) => Promise<Variables>),
      { signal, onProgress }: CallOptions = {},
    ) {
      const subscription = describeSubscription(textOf(document))
      return closeable<Result>([closed.signal, signal], async function* (merged) {
        const first = typeof variables === 'function' ? await variables(merged) : variables
        const followed = { ...subscription, variables: first, signal: merged, onProgress: progressTo(onProgress) }
        yield* follow<Result>({ socket, reconnect: retry.reconnect }, followed)
      })
    },
    async close() {
      if (closed.signal.aborted) return
      closed.abort(new ClientClosedError())
      socket.close()
      await transport.close()
    },
  }
}

/** Returns the text of a document. Some generators make text documents as objects with `toString`. */
function textOf(document: Document<unknown, never>): string {
  if (typeof document === 'string') return document
  return 'kind' in document ? print(document) : (document as { toString(): string }).toString()
}

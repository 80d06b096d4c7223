import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core'
import type { DocumentNode } from 'graphql'
import { Kind } from 'graphql/language/kinds.js'
import { parse } from 'graphql/language/parser.js'
import { print } from 'graphql/language/printer.js'
import { ClientClosedError, ClientConfigurationError } from './errors.ts'
import type { TypedDocumentString } from './operations.generated.ts'
import type { OnProgress } from './progress.ts'
import type { RetryConfig } from './retry/retry-config.ts'
import type { Timeouts } from './retry/timeouts.ts'
import { closeable } from './streams/closeable.ts'
import { createEventSocket, type WebSocketClass } from './streams/event-socket.ts'
import { follow, type Followed } from './streams/follow.ts'
import { createEndpoints } from './transport/endpoints.ts'
import { sendOperation } from './transport/send-operation.ts'
import type { Transport } from './transport/transport.ts'

/** A generated document, one from another generator, or the text of an operation. */
export type Document<Result, Variables> = DocumentTypeDecoration<Result, Variables> | DocumentNode | string

export interface CallOptions {
  /** When it aborts, the call throws its reason at once. */
  signal?: AbortSignal
  /** In addition to the client's own. */
  onProgress?: OnProgress
}

export interface RequestOptions extends CallOptions {
  /** The mutation has the same effect when it reaches the server twice. Queries always do. */
  idempotent?: boolean
}

export interface ConnectionSettings {
  /** Asked in this order. */
  urls: readonly URL[]
  token: string | undefined
  retry: RetryConfig
  timeouts: Timeouts
  transport: Transport
  webSocket: WebSocketClass
  onProgress: OnProgress | undefined
}

export type Stream<Item> = Omit<Followed<Item>, 'signal' | 'onProgress' | 'after' | 'query'> & {
  document: Document<unknown, never>
  /** Read when the stream begins. */
  after: (signal: AbortSignal) => Promise<string | null>
}

/** What all operations go through. */
export interface Connection {
  readonly urls: readonly URL[]
  request<Result, Variables extends object>(
    document: Document<Result, Variables>,
    variables: Variables,
    options?: RequestOptions,
  ): Promise<Result>
  stream<Item>(stream: Stream<Item>, options?: CallOptions): AsyncIterableIterator<Item>
  /** Aborts when the connection is closed. */
  readonly closed: AbortSignal
  close(): Promise<void>
}

export function createConnection(settings: ConnectionSettings): Connection {
  const { urls, token, retry, timeouts, transport, webSocket } = settings
  const endpoints = createEndpoints(urls, () => performance.now())
  const socket = createEventSocket({ webSocket, endpoints, timeouts, token })
  const closed = new AbortController()

  function progressTo(own: OnProgress | undefined): OnProgress | undefined {
    const { onProgress } = settings
    if (!onProgress || !own) return own ?? onProgress
    return (progress) => {
      onProgress(progress)
      own(progress)
    }
  }

  return {
    urls,
    closed: closed.signal,
    async request<Result, Variables extends object>(
      document: Document<Result, Variables>,
      variables: Variables,
      { signal, onProgress, idempotent = false }: RequestOptions = {},
    ) {
      const text = textOf(document)
      const { kind, name } = describe(text)
      if (kind === 'subscription') throw new ClientConfigurationError('A subscription is no request')
      const data = await sendOperation(
        { transport, endpoints, retry, token },
        {
          name,
          text,
          variables,
          repeatable: kind === 'query' || idempotent,
          signal: signal ? AbortSignal.any([closed.signal, signal]) : closed.signal,
          onProgress: progressTo(onProgress),
        },
      )
      return data as Result
    },
    stream({ document, after, ...stream }, { signal, onProgress } = {}) {
      const query = textOf(document)
      return closeable([closed.signal, signal], async function* (merged) {
        const from = await after(merged)
        const followed = { ...stream, query, after: from, signal: merged, onProgress: progressTo(onProgress) }
        yield* follow({ socket, reconnect: retry.reconnect }, followed)
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

function textOf(document: Document<unknown, never>): string {
  if (typeof document === 'string') return document
  return isNode(document) ? print(document) : (document as TypedDocumentString<unknown, never>).toString()
}

function isNode(document: Document<unknown, never>): document is DocumentNode {
  return typeof document === 'object' && 'kind' in document
}

function describe(text: string): { kind: string; name: string } {
  const operations = parse(text).definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  const operation = operations[0]
  if (!operation || operations.length > 1) throw new ClientConfigurationError('A document holds exactly one operation')
  return { kind: operation.operation, name: operation.name?.value ?? operation.operation }
}

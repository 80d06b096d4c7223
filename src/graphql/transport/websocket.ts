import { type ExecutionArgs, type ExecutionResult, getOperationAST, GraphQLError } from 'graphql'
import { CloseCode, type Disposable, makeServer, type SubscribePayload } from 'graphql-ws'
import type { Extra } from 'graphql-ws/use/ws'
import type { GraphQLParams } from 'graphql-yoga'
import type { WebSocketServer } from 'ws'
import { RepriseError } from '../../domain/errors.ts'
import { OPERATIONS_PER_SOCKET_MAX } from '../../domain/limits.ts'
import type { OpenSubscriptions } from '../../events/open-subscriptions.ts'
import type { Logger } from '../../observability/log.ts'
import { inSpan, type Tracer } from '../../observability/trace.ts'
import { type Authenticate, authorizationOf, noteKnown, withBrowserKey } from '../../services/access/authenticate.ts'
import type { GraphQLContext } from '../context.ts'
import { presentFault, tooManyRequests } from '../error-presentation.ts'
import { isEventResults } from '../execution/events-together.ts'
import { MESSAGE_BYTES_MAX } from '../limits/limits.ts'
import type { Executable, GraphQLServer } from '../server.ts'
import { identify } from './authentication.ts'
import { type Receiver, sendTogether } from './event-frames.ts'
import { type TrustedDocuments, trustedText } from './trusted-documents.ts'
import { boundMessages, joinSockets } from './websocket-sockets.ts'
import { type Identity, newRequestId } from './whole-request.ts'

/** Close codes of the protocol graphql-transport-ws. */
const UNAUTHORIZED = 4401
const FORBIDDEN = 4403
/** Close code of the WebSocket protocol. */
const TRY_AGAIN_LATER = 1013
const REFUSALS: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: UNAUTHORIZED,
  FORBIDDEN,
  TOO_MANY_REQUESTS: TRY_AGAIN_LATER,
}
/** One for all: an exception of its own costs more than the rest of a close. */
const LEFT = new DOMException('The client has left.', 'AbortError')
/** Maximum length of a close reason in bytes; the WebSocket protocol allows 123. */
const REASON_LENGTH_MAX = 120

export interface WebSocketOptions {
  /** How long a connection may stay unauthenticated. */
  initTimeoutMs?: number
  /**
   * Interval of pings. A peer that has not answered a ping when the next one is due is disconnected. Shorter than the
   * idle timeouts of proxies.
   */
  pingIntervalMs?: number
}

interface Caller {
  token?: string
  /** Number of operations in progress. A subscription counts until it is open. */
  operations?: number
  /**
   * Signals by the client's id of an operation, aborted when the client no longer waits for it. Each operation has its
   * own signal: one composed by `AbortSignal.any` with a signal that lives as long as the socket would never be freed
   * (1.2 kB each).
   */
  awaited?: Map<string, AbortController>
}

/**
 * Serves graphql-transport-ws on the sockets of `server`. The token is in the connection parameters, or in the headers
 * of the request that became the socket. A browser sends a cookie with that request, and a key in its first message.
 */
export function serveWebSockets(
  server: WebSocketServer,
  graphql: GraphQLServer,
  options: WebSocketOptions & {
    authenticate: Authenticate
    log: Logger
    trace: Tracer
    openSubscriptions: OpenSubscriptions
    trustedDocuments?: TrustedDocuments | undefined
  },
): Disposable {
  const { log, trace, trustedDocuments, openSubscriptions, initTimeoutMs = 10_000, pingIntervalMs = 12_000 } = options
  const whoIs = (extra: Extra, authorization: unknown) =>
    identify(options.authenticate, authorization, { address: extra.request.socket.remoteAddress }).catch(
      (error: unknown) => presentFault(error, { log, requestId: newRequestId() }),
    )
  const protocol = makeServer<{ authorization?: unknown; browserKey?: unknown }, Extra & Caller>({
    connectionInitWaitTimeout: initTimeoutMs,
    async onConnect(connection) {
      const { connectionParams, extra } = connection
      const { browserKey } = connectionParams ?? {}
      const { authorization = withBrowserKey(extra.request.headers.authorization, browserKey) } = connectionParams ?? {}
      const identity = await whoIs(extra, authorization)
      if (identity instanceof GraphQLError) {
        extra.socket.close(closeCodeOf(identity), identity.message.slice(0, REASON_LENGTH_MAX))
        return false
      }
      extra.token = identity.token
      noteKnown(extra.request.socket)
      boundMessages(extra.socket, MESSAGE_BYTES_MAX)
      const awaited = new Map<string, AbortController>()
      extra.awaited = awaited
      const release = openSubscriptions.openSocket({
        tokenId: identity.viewer.tokenId,
        stillAuthorized: async () => (await options.authenticate(identity.token)) !== null,
        end: () => closeRevoked(extra),
      })
      extra.socket.once('close', () => {
        release()
        for (const left of awaited.values()) left.abort(LEFT)
      })
      return true
    },
    onSubscribe: ({ extra }, id, payload) =>
      counted(extra, id, async (left) => {
        // Reads the token's present rights, because they may have changed since it connected.
        const identity = await whoIs(extra, authorizationOf(extra.token!))
        if (!(identity instanceof GraphQLError))
          return prepare(graphql, { extra, identity, payload, left }, trustedDocuments)
        if (identity.extensions['code'] === 'UNAUTHENTICATED') closeRevoked(extra)
        return [identity]
      }),
    onComplete: ({ extra }, id) => void extra.awaited!.delete(id),
    execute: (args) => traced(trace, args).finally(() => ended(args)),
    subscribe: async (args) => {
      try {
        const results = await enveloped(args).subscribe(args)
        return isEventResults(results) ? sendTogether(results, receiverOf(args)) : results
      } finally {
        ended(args)
      }
    },
  })
  const onComplete = (connection: Extra & Caller, id: string) => connection.awaited?.get(id)?.abort()
  return joinSockets(server, protocol, { log, pingIntervalMs, onComplete })
}

function closeRevoked({ socket }: Extra): void {
  socket.close(UNAUTHORIZED, 'The token is no longer valid')
}

function closeCodeOf({ extensions }: GraphQLError): number {
  return REFUSALS[extensions['code'] as string] ?? CloseCode.InternalServerError
}

type Prepared = ExecutionArgs | readonly GraphQLError[]

/** Limits the number of operations of a socket that are in progress. */
async function counted(
  extra: Extra & Caller,
  id: string,
  work: (left: AbortSignal) => Promise<Prepared>,
): Promise<Prepared> {
  const { operations = 0, awaited } = extra
  if (operations >= OPERATIONS_PER_SOCKET_MAX) {
    const message = `This connection has ${operations} operations in progress, and that is the limit.`
    return [tooManyRequests(new RepriseError('TOO_MANY_REQUESTS', message))]
  }
  extra.operations = operations + 1
  const left = new AbortController()
  awaited!.set(id, left)
  const end = () => void extra.operations!--
  const refuse = () => {
    end()
    awaited!.delete(id)
  }
  try {
    const prepared = await work(left.signal)
    if (!('document' in prepared)) refuse()
    else {
      const receiver: Receiver = { socket: extra.socket, connection: extra.request.socket, id }
      Object.assign(prepared.rootValue as object, { end, receiver })
    }
    return prepared
  } catch (error) {
    refuse()
    throw error
  }
}

function ended({ rootValue }: ExecutionArgs): void {
  ;(rootValue as { end(): void }).end()
}

function receiverOf({ rootValue }: ExecutionArgs): Receiver {
  return (rootValue as { receiver: Receiver }).receiver
}

async function prepare(
  graphql: GraphQLServer,
  {
    extra,
    identity,
    payload,
    left,
  }: { extra: Extra; identity: Identity; payload: SubscribePayload; left: AbortSignal },
  trustedDocuments: TrustedDocuments | undefined,
): Promise<Prepared> {
  const text = trustedDocuments ? trustedText(trustedDocuments, payload as GraphQLParams) : payload.query
  if (text instanceof GraphQLError) return [text]
  const requester = {
    ...identity,
    requestId: newRequestId(),
    address: extra.request.socket.remoteAddress,
    connection: extra.socket,
    left,
    revoked: () => closeRevoked(extra),
  }
  const executable = graphql.getEnveloped({ requester, params: payload }) as unknown as Executable
  const { schema, parse, validate, contextFactory } = executable
  try {
    const document = parse(text)
    const errors = validate(schema, document)
    if (errors.length > 0) return errors.map((error) => asOverHttp(error, 'GRAPHQL_VALIDATION_FAILED'))
    const { operationName, variables: variableValues, extensions } = payload
    if (!getOperationAST(document, operationName)) {
      const coded = { extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } }
      return [new GraphQLError('There is no such operation in the document.', coded)]
    }
    const contextValue = await contextFactory()
    return {
      schema,
      document,
      operationName,
      variableValues,
      contextValue,
      rootValue: { executable, traceParent: extensions?.['traceparent'] },
    }
  } catch (error) {
    if (error instanceof GraphQLError) return [asOverHttp(error, 'VALIDATION_FAILED')]
    throw error
  }
}

/** Gives an error the code that it has over HTTP, and removes the extension `http`. */
function asOverHttp({ message, nodes, source, positions, path, extensions }: GraphQLError, code: string): GraphQLError {
  const { http: _, ...own } = extensions
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { code, ...own } })
}

/** The root value carries what executes the operation, where its results go, and its trace; no resolver reads it. */
function enveloped({ rootValue }: ExecutionArgs): Executable {
  return (rootValue as { executable: Executable }).executable
}

/** Traces queries and mutations only: the duration of a subscription has no meaning. */
async function traced(trace: Tracer, args: ExecutionArgs): Promise<ExecutionResult> {
  const { traceParent } = args.rootValue as { traceParent?: unknown }
  const { requestId } = args.contextValue as GraphQLContext
  const span = trace.beginRequest('graphql-ws /graphql', typeof traceParent === 'string' ? traceParent : undefined, {
    'http.route': '/graphql',
    'reprise.request.id': requestId,
    ...(args.operationName && { 'graphql.operation.name': args.operationName }),
  })
  const result = (await inSpan(span, () => enveloped(args).execute(args))) as ExecutionResult
  span?.end({ failed: result.errors?.some(({ extensions }) => extensions['code'] === 'INTERNAL') ?? false })
  return result
}

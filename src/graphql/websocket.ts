import { GraphQLError, type DocumentNode, type ExecutionArgs, type GraphQLSchema } from 'graphql'
import { useServer, type Extra } from 'graphql-ws/use/ws'
import type { Context, Disposable, ServerOptions, SubscribePayload } from 'graphql-ws'
import type { WebSocketServer } from 'ws'
import type { Authenticate } from '../services/authenticate.ts'
import { identify, type Identity } from './authentication.ts'
import type { GraphQLContext } from './context.ts'
import { newRequestId } from './request-id.ts'
import type { GraphQLServer } from './server.ts'

/** Close codes of the protocol graphql-transport-ws. */
const UNAUTHORIZED = 4401
const FORBIDDEN = 4403

/** A proxy that cuts idle connections waits longer than this. */
const PING_INTERVAL_MS = 12_000
const INIT_TIMEOUT_MS = 10_000

type Connection = Context<{ authorization?: unknown }, Extra & { identity?: Identity }>

/** What Yoga types as `any`. */
interface Executable {
  schema: GraphQLSchema
  parse: (query: string) => DocumentNode
  validate: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[]
  contextFactory: () => Promise<GraphQLContext> | GraphQLContext
  execute: NonNullable<ServerOptions['execute']>
  subscribe: NonNullable<ServerOptions['subscribe']>
}

/** Speaks graphql-transport-ws on the sockets of `server`; the token comes with the connection's parameters. */
export function serveWebSockets(
  server: WebSocketServer,
  graphql: GraphQLServer,
  authenticate: Authenticate,
): Disposable {
  return useServer<{ authorization?: unknown }, { identity?: Identity }>(
    {
      connectionInitWaitTimeout: INIT_TIMEOUT_MS,
      async onConnect(connection) {
        const identity = await identify(authenticate, connection.connectionParams?.authorization)
        if (identity instanceof GraphQLError) {
          const code = identity.extensions['code'] === 'FORBIDDEN' ? FORBIDDEN : UNAUTHORIZED
          connection.extra.socket.close(code, identity.message.slice(0, 120))
          return false
        }
        connection.extra.identity = identity
        return true
      },
      onSubscribe: (connection, _id, payload) => prepare(graphql, connection, payload),
      execute: (args) => enveloped(args).execute(args),
      subscribe: (args) => enveloped(args).subscribe(args),
    },
    server,
    PING_INTERVAL_MS,
  )
}

async function prepare(
  graphql: GraphQLServer,
  connection: Connection,
  payload: SubscribePayload,
): Promise<ExecutionArgs | readonly GraphQLError[]> {
  const { identity, socket } = connection.extra
  const requester = {
    ...identity!,
    requestId: newRequestId(),
    revoked: () => socket.close(UNAUTHORIZED, 'The token is no longer valid'),
  }
  const executable = graphql.getEnveloped({ requester, params: payload }) as unknown as Executable
  const { schema, parse, validate, contextFactory } = executable
  try {
    const document = parse(payload.query)
    const errors = validate(schema, document)
    if (errors.length > 0) return errors
    const { operationName, variables: variableValues } = payload
    const contextValue = await contextFactory()
    return { schema, document, operationName, variableValues, contextValue, rootValue: { executable } }
  } catch (error) {
    if (error instanceof GraphQLError) return [error]
    throw error
  }
}

/** The root value carries what must execute the operation; no resolver reads it. */
function enveloped({ rootValue }: ExecutionArgs): Executable {
  return (rootValue as { executable: Executable }).executable
}

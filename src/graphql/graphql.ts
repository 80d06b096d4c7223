import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Disposable } from 'graphql-ws'
import type { WebSocketServer } from 'ws'
import { GraphQLError } from 'graphql'
import { identify } from './transport/authentication.ts'
import type { GraphQLServices } from './context.ts'
import { createOpenSubscriptions } from './transport/open-subscriptions.ts'
import { mayReadMetrics } from '../services/access/authorize.ts'
import { consistentReads } from '../services/consistent-reads.ts'
import { createRefusalLog } from '../services/access/refusal-log.ts'
import { sessionReader } from '../services/session/read-selected-sessions.ts'
import { sessionSelects } from './session-reads/session-selects.ts'
import { sharedSessionReader } from './session-reads/shared-session-reader.ts'
import { createServeHttp } from './transport/serve-http.ts'
import { createGraphQLServer } from './server.ts'
import type { TrustedDocuments } from './transport/trusted-documents.ts'
import { serveWebSockets, type WebSocketOptions } from './transport/websocket.ts'

export type GraphQLDependencies = Omit<
  GraphQLServices,
  'closing' | 'openSubscriptions' | 'refusals' | 'readSessions' | 'selectSessions' | 'consistently'
> & {
  /** Whether introspection is answered without a token. */
  introspectionForStrangers?: boolean
  trustedDocuments?: TrustedDocuments | undefined
  webSockets?: WebSocketOptions
}

export interface GraphQL {
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  serveWebSockets(server: WebSocketServer): Disposable
  /** Authenticates an `Authorization` header for endpoints outside GraphQL. */
  identify(
    authorization: string | undefined,
  ): Promise<{ mayReadMetrics: boolean } | { status: number; refusal: string }>
  /** Ends the subscriptions of all transports; new ones end at once. */
  endSubscriptions(): void
}

/** The GraphQL API over all transports, independent of the server that listens. */
export function createGraphQL(options: GraphQLDependencies): GraphQL {
  const { introspectionForStrangers = false, trustedDocuments, webSockets, ...dependencies } = options
  const closing = new AbortController()
  const { authenticate, log, trace } = dependencies
  const openSubscriptions = createOpenSubscriptions(closing.signal)
  const readSessions = sharedSessionReader(sessionReader(dependencies))
  const services: GraphQLServices = {
    ...dependencies,
    openSubscriptions,
    refusals: createRefusalLog(dependencies),
    readSessions,
    selectSessions: sessionSelects(),
    consistently: consistentReads(dependencies.prisma),
    closing: closing.signal,
  }
  const server = createGraphQLServer({ services, introspectionForStrangers, trustedDocuments })
  return {
    handle: createServeHttp(server, { authenticate, introspectionForStrangers, log }),
    serveWebSockets: (sockets) =>
      serveWebSockets(sockets, server, { ...webSockets, authenticate, log, trace, trustedDocuments }),
    async identify(authorization) {
      const identity = await identify(authenticate, authorization, { may: () => true })
      if (!(identity instanceof GraphQLError)) return { mayReadMetrics: mayReadMetrics(identity.viewer) }
      const { status } = identity.extensions['http'] as { status: number }
      return { status, refusal: identity.message }
    },
    endSubscriptions: () => closing.abort(),
  }
}

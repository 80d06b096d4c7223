import type { IncomingMessage, ServerResponse } from 'node:http'
import { GraphQLError } from 'graphql'
import type { Disposable } from 'graphql-ws'
import type { WebSocketServer } from 'ws'
import { createOpenSubscriptions } from '../events/open-subscriptions.ts'
import type { Session } from '../generated/prisma/client.ts'
import { mayReadMetrics } from '../services/access/authorize.ts'
import { isKnown } from '../services/access/authenticate.ts'
import type { Rates } from '../services/access/admission.ts'
import { createRefusalLog } from '../services/access/audit.ts'
import { consistentReads, readShared } from '../services/consistent-reads.ts'
import { nextTurn } from '../services/next-turn.ts'
import { type ReadSessions, type SessionRead, sessionReader } from '../services/session/read-sessions.ts'
import type { GraphQLServices } from './context.ts'
import { sessionSelects } from './loaders/session-loader.ts'
import { schema } from './schema.ts'
import { createGraphQLServer } from './server.ts'
import { identify } from './transport/authentication.ts'
import { createPublicIntrospection, type StaticAnswers } from './transport/public-introspection.ts'
import { createServeHttp } from './transport/serve-http.ts'
import type { TrustedDocuments } from './transport/trusted-documents.ts'
import { serveWebSockets, type WebSocketOptions } from './transport/websocket.ts'

export type GraphQLDependencies = Omit<
  GraphQLServices,
  'closing' | 'openSubscriptions' | 'refusals' | 'readSessions' | 'selectSessions' | 'consistently'
> & {
  /** Whether introspection is answered without a token. */
  introspectionForStrangers?: boolean
  /** Rate limit of addresses that send requests without a valid token; no limit if missing. */
  strangers?: Rates | undefined
  staticAnswer: StaticAnswers
  trustedDocuments?: TrustedDocuments | undefined
  webSockets?: WebSocketOptions
}

export interface GraphQL {
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  serveWebSockets(server: WebSocketServer): Disposable
  /** Whether the connection has shown a valid token. */
  isKnown(connection: object): boolean
  /** Authenticates an `Authorization` header for endpoints outside GraphQL. */
  identify(
    authorization: string | undefined,
  ): Promise<{ mayReadMetrics: boolean } | { status: number; refusal: string }>
  /** Handles of streams outside GraphQL: they count as subscriptions, and end with them. */
  readonly streams: Pick<GraphQLServices, 'openSubscriptions' | 'closing'>
  /** Ends the subscriptions of all transports; new ones end at once. */
  endSubscriptions(): void
}

/** The GraphQL API over all transports, independent of the server that listens. */
export function createGraphQL(options: GraphQLDependencies): GraphQL {
  const {
    introspectionForStrangers = false,
    strangers,
    staticAnswer,
    trustedDocuments,
    webSockets,
    ...dependencies
  } = options
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
    handle: createServeHttp(server, {
      authenticate,
      introspection: introspectionForStrangers ? createPublicIntrospection(schema, staticAnswer) : null,
      strangers,
      log,
      trustedDocuments,
    }),
    isKnown,
    serveWebSockets: (sockets) =>
      serveWebSockets(sockets, server, {
        ...webSockets,
        authenticate,
        openSubscriptions,
        log,
        trace,
        trustedDocuments,
      }),
    async identify(authorization) {
      const identity = await identify(authenticate, authorization, { may: () => true })
      if (!(identity instanceof GraphQLError)) return { mayReadMetrics: mayReadMetrics(identity.viewer) }
      const { status } = identity.extensions['http'] as { status: number }
      return { status, refusal: identity.message }
    },
    streams: { openSubscriptions, closing: closing.signal },
    endSubscriptions: () => closing.abort(),
  }
}

interface Gathering {
  values: Set<string>
  /** Rows of the read, grouped by the value of the key. */
  rows: Promise<Map<string, Session[]>>
}

/**
 * Merges reads of the same kind that are requested at about the same time, by subscribers to one event or by polling
 * clients. Requests that arrive while a read is in progress wait for it and share the next one, so every caller sees a
 * state that is no older than its request. Nothing is cached. Only requests of the same project and selection are
 * merged, so no request receives rows of another project. The reads of an operation with its own snapshot are not
 * merged.
 */
function sharedSessionReader(read: ReadSessions): ReadSessions {
  const underWay = new Map<string, Promise<unknown>>()
  const gathering = new Map<string, Gathering>()

  function gather(key: string, request: SessionRead): Gathering {
    const values = new Set<string>()
    const turn = (underWay.get(key) ?? Promise.resolve()).then(() => nextTurn())
    const rows = turn.then(async () => {
      gathering.delete(key)
      const found = await read({ ...request, values: [...values] })
      return Map.groupBy(found, (row) => row[request.by]!)
    })
    const settled = rows.catch(() => undefined)
    underWay.set(key, settled)
    void settled.then(() => underWay.get(key) === settled && underWay.delete(key))
    const gathered = { values, rows }
    gathering.set(key, gathered)
    return gathered
  }

  const share: ReadSessions = async (request) => {
    const { projectId, by, values, selectKey } = request
    const key = `${projectId} ${by} ${selectKey}`
    const gathered = gathering.get(key) ?? gather(key, request)
    for (const value of values) gathered.values.add(value)
    const rows = await gathered.rows
    // Every caller gets its own copies, so operations do not see each other's changes to rows.
    return [...new Set(values)].flatMap((value) => (rows.get(value) ?? []).map((row) => ({ ...row })))
  }
  return (request) =>
    readShared(
      () => share(request),
      () => read(request),
    )
}

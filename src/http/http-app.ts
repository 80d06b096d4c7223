import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { renderGraphiQLPage } from '../graphql/transport/graphiql-page.ts'
import { createGraphQL, type GraphQLDependencies } from '../graphql/graphql.ts'
import { STRANGER_MESSAGE_BYTES_MAX } from '../graphql/limits/limits.ts'
import { GRAPHQL_PATH } from '../graphql/server.ts'
import { LOGIN_HEADER, takeSessionCookie } from '../rest/browser-sessions.ts'
import { serveChannels, type ChannelOptions } from '../rest/serve-channels.ts'
import { OPENAPI_PATH } from '../rest/openapi.ts'
import { createRest, REST_PREFIX, type RestDependencies } from '../rest/rest.ts'
import { offerCompression } from './compression.ts'
import { indexPage } from './index-page.ts'
import { createMetricsAnswer, type MetricsPage } from './metrics-page.ts'
import type { Mount } from './mount.ts'
import { pathOf, requestIdOf } from './request-head.ts'
import { respond } from './respond.ts'
import type { ServedRoute } from './route-table.ts'
import { staticAnswer, type StaticBody } from './static-answer.ts'
import { GRAPHIQL_HEADERS, type UiFiles } from './ui-files.ts'

export interface HttpAppDependencies
  extends Omit<GraphQLDependencies, 'staticAnswer'>, Pick<RestDependencies, 'code'>, ChannelOptions {
  metricsPage: MetricsPage
  mounts?: readonly Mount[]
  /** Null: it is switched off. Undefined: it has not been bundled. */
  ui?: UiFiles | null | undefined
  /** The page as it was bundled; without it, the first request makes it, during which nothing else is served. */
  graphiql?: StaticBody | undefined
  /** What people should know who run this server. Asks the database. */
  warnings?: () => Promise<string[]>
}

/** Everything that is served once the server has started. */
export interface HttpApp {
  /** Resolves once the database has answered. */
  warnings(): Promise<string[]>
  /** Of the web UI that it serves. */
  readonly build: string | undefined
  /** All that it serves. */
  readonly routes: readonly ServedRoute[]
  /** Whether the connection has shown a valid token. */
  isKnown(connection: object): boolean
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  /** Takes over the socket. @returns false if nothing at the request's path can be upgraded */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** Ends subscriptions and waiting requests; resolves when the subscribers have been notified. */
  end(): Promise<void>
  /** Terminates WebSockets that are still open. */
  cutOff(): void
}

export function createHttpApp(options: HttpAppDependencies): HttpApp {
  const { mounts = [], ui } = options
  const mounted = new Map(mounts.flatMap((mount) => mount.paths.map((path) => [path, mount])))
  const graphql = createGraphQL({ ...options, staticAnswer })
  const answerMetrics = createMetricsAnswer(options.metricsPage, graphql.identify)
  const rest = createRest({ ...options, ...graphql.streams })
  const channels = serveChannels({ ...options, ...graphql.streams })
  const webSockets = new WebSocketServer({ noServer: true, maxPayload: STRANGER_MESSAGE_BYTES_MAX })
  const sockets = graphql.serveWebSockets(webSockets)
  const sendGraphiQL = staticAnswer(options.graphiql ?? RENDERED_GRAPHIQL)
  const sendOpenApi = staticAnswer({
    read: () => Buffer.from(JSON.stringify(rest.document())),
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' },
  })
  const sendIndex = staticAnswer({
    read: () => Buffer.from(indexPage(ui === undefined)),
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache' },
  })
  return {
    warnings: options.warnings ?? (() => options.db.query('SELECT 1').then(() => [])),
    build: ui?.build,
    isKnown: (connection) => graphql.isKnown(connection),
    routes: [
      ...(ui?.routes ?? []),
      ...['/', '/metrics', GRAPHQL_PATH].map((path) => ({ method: 'GET', path })),
      ...mounts.flatMap(({ paths }) => paths.map((path) => ({ method: 'POST', path }))),
      ...rest.routes,
    ],
    async handle(request, response, requestId) {
      const path = pathOf(request)
      if (ui && takeSessionCookie(request) === 'incomplete') response.setHeader(LOGIN_HEADER, 'incomplete')
      const mount = mounted.get(path)
      if (mount) return mount.handle(request, response, requestId)
      if (path === GRAPHQL_PATH && asksForPage(request)) return sendGraphiQL(request, response)
      if (path === OPENAPI_PATH && isRead(request)) return sendOpenApi(request, response)
      if (path === GRAPHQL_PATH || path.startsWith(REST_PREFIX)) {
        offerCompression(request, response)
        return path === GRAPHQL_PATH ? graphql.handle(request, response, requestId) : rest.handle(request, response)
      }
      if (path === '/metrics') return answerMetrics(request, response)
      const answered = ui?.answer(request, response)
      if (answered) return answered
      if (path === '/') return sendIndex(request, response)
      respond(response, 404, 'text/plain', 'Not found\n')
    },
    upgrade(request, socket, head) {
      if (pathOf(request) !== GRAPHQL_PATH) {
        if (channels.upgrade(request, socket, head, requestIdOf(request))) return true
        return mounts.some((mount) => mount.upgrade?.(request, socket, head) === true)
      }
      if (ui) takeSessionCookie(request)
      webSockets.handleUpgrade(request, socket, head, (webSocket) => webSockets.emit('connection', webSocket, request))
      return true
    },
    async end() {
      // Sockets close first: a client reconnects elsewhere after a closed socket, but not after a completed
      // subscription.
      const disposed = sockets.dispose()
      graphql.endSubscriptions()
      const ended = channels.end()
      for (const mount of mounts) mount.end()
      await Promise.all([disposed, ended])
    },
    cutOff() {
      for (const webSocket of webSockets.clients) webSocket.terminate()
      channels.cutOff()
    },
  }
}

const RENDERED_GRAPHIQL: StaticBody = {
  read: async () => Buffer.from(await renderGraphiQLPage()),
  headers: GRAPHIQL_HEADERS,
}

/** A browser that opens the address, and no client of the API. */
function asksForPage({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

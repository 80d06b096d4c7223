import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { createGraphQL, type GraphQLDependencies } from '../graphql/graphql.ts'
import { STRANGER_MESSAGE_BYTES_MAX } from '../graphql/limits/limits.ts'
import { GRAPHQL_PATH } from '../graphql/server.ts'
import { LOGIN_HEADER, takeSessionCookie } from '../rest/browser-sessions.ts'
import { type ChannelOptions, serveChannels } from '../rest/serve-channels.ts'
import { OPENAPI_PATH } from '../rest/openapi.ts'
import { createRest, REST_PREFIX, type RestDependencies } from '../rest/rest.ts'
import { offerCompression } from './compression.ts'
import type { GraphiQL } from './graphiql-files.ts'
import { createMetricsAnswer, type MetricsPage } from './metrics-page.ts'
import { pathOf, requestIdOf, respond } from './http-messages.ts'
import type { PythonClient } from './python-client.ts'
import type { ServedRoute } from './route-table.ts'
import { staticAnswer } from './static-answer.ts'
import type { UiFiles } from './ui-files.ts'

/** A component that serves some paths of the HTTP server. */
interface Mount {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  /** Takes over the socket. @returns false if it upgrades nothing at the request's path */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** Called when the server closes; responds to waiting requests at once. */
  end(): void
}

export interface HttpAppDependencies
  extends Omit<GraphQLDependencies, 'staticAnswer'>, Pick<RestDependencies, 'code' | 'blobs'>, ChannelOptions {
  metricsPage: MetricsPage
  mounts?: readonly Mount[]
  /** The web UI: null if it is switched off, undefined if it has not been bundled. */
  ui?: UiFiles | null | undefined
  /** The Python client; undefined if it has not been bundled. */
  pythonClient?: PythonClient | undefined
  /** Undefined if it has not been bundled. */
  graphiql?: GraphiQL | undefined
  /** Returns warnings for the operator. Queries the database. */
  warnings?: () => Promise<string[]>
}

/** Serves all paths of a started server except the health probes. */
export interface HttpApp {
  /** Resolves once the database has answered. */
  warnings(): Promise<string[]>
  /** The build of the web UI, if one is served. */
  readonly build: string | undefined
  /** All routes that it serves. */
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
  const { mounts = [], ui, graphiql } = options
  const mounted = new Map(mounts.flatMap((mount) => mount.paths.map((path) => [path, mount])))
  const graphql = createGraphQL({ ...options, staticAnswer })
  const answerMetrics = createMetricsAnswer(options.metricsPage, graphql.identify)
  const rest = createRest({ ...options, ...graphql.streams })
  const channels = serveChannels({ ...options, ...graphql.streams })
  const webSockets = new WebSocketServer({ noServer: true, maxPayload: STRANGER_MESSAGE_BYTES_MAX })
  const sockets = graphql.serveWebSockets(webSockets)
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
      ...(graphiql?.routes ?? []),
      ...['/', '/metrics', GRAPHQL_PATH].map((path) => ({ method: 'GET', path })),
      ...(options.pythonClient?.routes ?? []),
      ...mounts.flatMap(({ paths }) => paths.map((path) => ({ method: 'POST', path }))),
      ...rest.routes,
    ],
    async handle(request, response, requestId) {
      const path = pathOf(request)
      if (ui && takeSessionCookie(request) === 'incomplete') response.setHeader(LOGIN_HEADER, 'incomplete')
      const mount = mounted.get(path)
      if (mount) return mount.handle(request, response, requestId)
      if (path === GRAPHQL_PATH && asksForPage(request)) return (graphiql?.sendPage ?? sendIndex)(request, response)
      if (path === OPENAPI_PATH && isRead(request)) return sendOpenApi(request, response)
      if (path === GRAPHQL_PATH || path.startsWith(REST_PREFIX)) {
        offerCompression(request, response)
        return path === GRAPHQL_PATH ? graphql.handle(request, response, requestId) : rest.handle(request, response)
      }
      if (path === '/metrics') return answerMetrics(request, response)
      for (const files of [options.pythonClient, graphiql, ui]) {
        const answered = files?.answer(request, response)
        if (answered) return answered
      }
      if (path === '/') return sendIndex(request, response)
      if (ui && asksForPage(request)) return ui.answerUnknown(request, response)
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

/** Returns whether a browser opens the address, as opposed to a client of the API. */
function asksForPage({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

const HOW_TO_BUNDLE = `<p>This server has no web UI and no GraphiQL, because they have not been bundled. <code>npm start</code> bundles them, or reports why it cannot.</p>
`

/** The page at `/` of a server without a web UI: a list of its addresses. */
function indexPage(isUnbundled: boolean): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Reprise</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }</style>
<h1>Reprise</h1>
<p>Compute sessions that retry themselves.</p>
${isUnbundled ? HOW_TO_BUNDLE : ''}<ul>
  <li><a href="/graphql">/graphql</a>: GraphiQL in a browser; GraphQL over HTTP, server-sent events and graphql-ws for programs</li>
  <li><a href="/v2/openapi.json">/v2</a>: the same services as JSON over HTTP, described by an OpenAPI document</li>
  <li><a href="/clients/python/">/clients/python</a>: the client for Python, for pip</li>
  <li><a href="/healthz">/healthz</a>: whether the process runs</li>
  <li><a href="/readyz">/readyz</a>: whether the server is ready</li>
  <li>/metrics: figures of the server, for Prometheus</li>
</ul>
<p>Requests carry <code>Authorization: Bearer …</code>. The first token is in the file
<code>admin-token</code> of the server's data directory.</p>
`
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { inSpan } from '../observability/trace.ts'
import { createGraphQL, type GraphQLDependencies } from '../graphql/graphql.ts'
import { REQUEST_BYTES_MAX } from '../graphql/limits.ts'
import { GRAPHQL_PATH } from '../graphql/server.ts'
import { createRest, REST_PREFIX } from '../rest/rest.ts'
import { answerHealth, answerReadiness } from './health.ts'
import { indexPage } from './index-page.ts'
import { answerMetrics, type MetricsPage } from './metrics.ts'
import type { Mount } from './mount.ts'
import { requestIdOf, setSafeHeaders } from './request-head.ts'
import { respond } from './respond.ts'
import { watchRequest } from './watch-request.ts'

export interface HttpServer {
  /** Port 0 picks a free one. Resolves with where it listens. */
  listen(host: string, port: number): Promise<string>
  /** Takes nothing new, ends subscriptions, waits for what is under way, up to DRAIN_MS. */
  close(): Promise<void>
}

/** How long requests that are under way may take to end; a terminal's Ctrl-C should not seem to hang. */
const DRAIN_MS = 5_000

export function createHttpServer(
  options: GraphQLDependencies & { metricsPage: MetricsPage; mounts?: readonly Mount[] },
): HttpServer {
  const { log, mounts = [] } = options
  const mounted = new Map(mounts.flatMap((mount) => mount.paths.map((path) => [path, mount])))
  const graphql = createGraphQL(options)
  const rest = createRest(options)
  const webSockets = new WebSocketServer({ noServer: true, maxPayload: REQUEST_BYTES_MAX })
  const sockets = graphql.serveWebSockets(webSockets)
  const server = createServer((request, response) => {
    const requestId = requestIdOf(request)
    const span = watchRequest(options, request, response, requestId)
    setSafeHeaders(response, requestId)
    inSpan(span, () => route(request, response, requestId)).catch((error) => {
      log.error({ err: error, url: request.url, requestId }, 'a request met a fault')
      if (response.headersSent) response.destroy()
      else respond(response, 500, 'text/plain', 'Unexpected error\n')
    })
  })
  let closing = false

  async function route(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    if (closing) response.setHeader('Connection', 'close')
    const path = request.url!.split('?', 1)[0]!
    const mount = mounted.get(path)
    if (mount) return mount.handle(request, response, requestId)
    if (path === GRAPHQL_PATH) return graphql.handle(request, response, requestId)
    if (path.startsWith(REST_PREFIX)) return rest.handle(request, response)
    if (path === '/healthz') return answerHealth(response)
    if (path === '/readyz') return answerReadiness(response, options.db, closing)
    if (path === '/metrics') return answerMetrics(request, response, options.metricsPage, graphql.identify)
    if (path === '/') return respond(response, 200, 'text/html; charset=utf-8', indexPage())
    respond(response, 404, 'text/plain', 'Not found\n')
  }

  server.on('upgrade', (request, socket, head) => {
    if (closing || request.url!.split('?', 1)[0] !== GRAPHQL_PATH) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
      return
    }
    webSockets.handleUpgrade(request, socket, head, (webSocket) => webSockets.emit('connection', webSocket, request))
  })

  return {
    listen(host, port) {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve(urlOf(server.address() as AddressInfo))
        })
      })
    },
    async close() {
      closing = true
      const drained = new Promise<void>((resolve) => server.close(() => resolve()))
      const deadline = setTimeout(() => {
        log.warn('requests were still under way; they are cut off')
        for (const webSocket of webSockets.clients) webSocket.terminate()
        server.closeAllConnections()
      }, DRAIN_MS)
      // A subscription that is completed looks over to its client; one whose socket closes is begun again elsewhere.
      const disposed = sockets.dispose()
      graphql.endSubscriptions()
      for (const mount of mounts) mount.end()
      await disposed
      server.closeIdleConnections()
      await drained
      clearTimeout(deadline)
    },
  }
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

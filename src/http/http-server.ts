import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import { inSpan, type Tracer } from '../observability/trace.ts'
import { guarded, within } from '../waiting/wait.ts'
import type { HttpApp } from './http-app.ts'
import { serveInTurns } from './pipelined-requests.ts'
import { hostFault, pathOf, requestIdOf, respond, setSafeHeaders } from './http-messages.ts'
import {
  cutOffSlowReaders,
  keepKnownOpen,
  REQUEST_LIMITS,
  type RequestLimits,
  serverOptions,
} from './request-limits.ts'
import type { TlsPair } from './tls-pair.ts'
import { createRouteTable, type ServedRoute } from './route-table.ts'
import { watchRequest } from './watch-request.ts'
import { startingProblem } from '../rest/problem.ts'
import { isEmbeddedDiskFull } from '../observability/process-events.ts'

/**
 * Listens from the beginning of the start to the end of the stop:
 *
 *   starting, migrating → serving → draining → closing
 *
 * Until it serves, it answers only health probes; all other requests get 503 SERVER_STARTING. While it drains, it
 * serves all requests but reports that it is not ready, so that a load balancer sends new clients elsewhere. When it
 * closes, it refuses new connections and lets requests in flight finish.
 */
export interface HttpServer {
  /** Starts to listen. Port 0 picks a free port. Resolves with the server's URL. */
  listen(host: string, port: number): Promise<string>
  /** Sets the phase that is reported until the server serves. */
  note(phase: 'starting' | 'migrating'): void
  /** Begins to serve; `details` are added to the answer of `/readyz`. */
  serve(app: HttpApp, details?: Readonly<Record<string, string>>): void
  /** Drains, closes, and waits for requests in flight, up to CUT_OFF_AFTER_MS. A second call waits for the first. */
  close(): Promise<void>
  /** Uses this certificate for new connections; does nothing without TLS. */
  replaceTls(pair: TlsPair): void
}

/** Routes that are served even before the server has started. */
const PROBES: ServedRoute[] = ['/healthz', '/readyz'].map((path) => ({ method: 'GET', path }))

/** Time limit of the database for a probe: a database that answers more slowly counts as unreachable. */
const READY_WITHIN_MS = 2_000

/** Probes share one query of the database for this time; after that, a new probe sends another. */
const ASKED_AGAIN_AFTER_MS = 1_000

/** The socket of a client whose upgrade was refused is destroyed after this time. */
const REFUSED_MS = 5_000

/**
 * Time that requests in flight may take to finish when the server closes. It is short, so that Ctrl-C does not seem to
 * hang.
 */
const CUT_OFF_AFTER_MS = 5_000

export function createHttpServer(options: {
  log: Logger
  metrics: Metrics
  trace: Tracer
  /** After `close()`, the server still serves for this time. */
  drainMs?: number
  requestLimits?: RequestLimits
  /** If given, the server accepts only TLS. */
  tls?: TlsPair | undefined
}): HttpServer {
  const { log, drainMs = 0, requestLimits = REQUEST_LIMITS, tls } = options
  const listener: RequestListener = (request, response) => {
    const requestId = requestIdOf(request)
    const span = watchRequest({ ...options, routes }, request, response, requestId)
    setSafeHeaders(response, requestId)
    if (app?.build !== undefined) response.setHeader('X-Reprise-Build', app.build)
    inSpan(span, () => route(request, response, requestId)).catch((error) => {
      log.error({ err: error, url: request.url, requestId }, 'a request failed unexpectedly')
      if (response.headersSent) response.destroy()
      else respond(response, 500, 'text/plain', 'Unexpected error\n')
    })
  }
  const secure = tls && createTlsServer({ ...serverOptions(requestLimits), ...tls, minVersion: 'TLSv1.2' })
  const server = secure ?? createServer(serverOptions(requestLimits))
  const isKnown = (socket: object) => app?.isKnown(socket) === true
  const isBusy = serveInTurns(server, listener, isKnown)
  cutOffSlowReaders(server, requestLimits, isKnown)
  keepKnownOpen(server, requestLimits, isKnown)
  server.setTimeout(requestLimits.stalledAfterMs)
  let phase: 'starting' | 'migrating' | 'serving' | 'draining' | 'closing' = 'starting'
  let app: HttpApp | undefined
  let routes = createRouteTable(PROBES)
  let details: Readonly<Record<string, string>> = {}
  let closed: Promise<void> | undefined
  const failed = (error: unknown) => log.error({ err: error }, 'the HTTP server had an error')
  let asked: { at: number; answer: Promise<string[]> } | undefined

  /** Shares the query that is in flight, unless it is overdue. */
  function askReadiness(): Promise<string[]> {
    if (asked && performance.now() - asked.at < ASKED_AGAIN_AFTER_MS) return asked.answer
    const answer = app!.warnings()
    const mine = { at: performance.now(), answer }
    asked = mine
    const forget = () => {
      if (asked === mine) asked = undefined
    }
    answer.then(forget, forget)
    return answer
  }

  async function route(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    if (phase === 'closing') response.setHeader('Connection', 'close')
    const fault = hostFault(request)
    if (fault !== null) {
      response.setHeader('Connection', 'close')
      return respond(response, 400, 'text/plain', `${fault}\n`)
    }
    const path = pathOf(request)
    if (path === '/healthz') return answerHealth(response)
    if (path === '/readyz')
      return phase === 'serving' ? answerReadiness(response, askReadiness, details) : answerNotReady(response, phase)
    return app ? app.handle(request, response, requestId) : answerStarting(response, path, requestId)
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node no longer listens for errors of an upgraded socket; an error without a listener would end the process.
    socket.on('error', () => socket.destroy())
    try {
      upgrade(request, socket, head)
    } catch (error) {
      log.error({ err: error, url: request.url }, 'an upgrade failed unexpectedly')
      socket.destroy()
    }
  })
  // Called, for example, if a connection cannot be accepted because too many files are open.
  server.on('error', failed)

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // An upgrade would be answered before the requests that wait on this connection.
    if (isBusy(socket)) return void socket.destroy()
    if (hostFault(request) !== null) return refuseUpgrade(socket, '400 Bad Request')
    if (!app) return refuseUpgrade(socket, '503 Service Unavailable\r\nRetry-After: 1')
    if (phase === 'closing' || !app.upgrade(request, socket, head)) refuseUpgrade(socket, '404 Not Found')
  }

  async function close(): Promise<void> {
    if (app && drainMs > 0) {
      phase = 'draining'
      log.info(`draining for ${drainMs / 1000} s: still serving, but not ready`)
      await sleep(drainMs)
    }
    phase = 'closing'
    const ended = new Promise<void>((resolve) => server.close(() => resolve()))
    const cutOff = () => {
      log.warn('cutting off requests that are still in flight')
      server.closeAllConnections()
      app?.cutOff()
    }
    const deadline = setTimeout(guarded(cutOff, failed), CUT_OFF_AFTER_MS)
    await app?.end()
    server.closeIdleConnections()
    await ended
    clearTimeout(deadline)
  }

  return {
    listen(host, port) {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve(urlOf(secure ? 'https' : 'http', server.address() as AddressInfo))
        })
      })
    },
    note(what) {
      phase = what
    },
    serve(what, about = {}) {
      app = what
      routes = createRouteTable([...PROBES, ...what.routes])
      details = about
      phase = 'serving'
    },
    close: () => (closed ??= close()),
    replaceTls: (pair) => secure?.setSecureContext({ ...pair, minVersion: 'TLSv1.2' }),
  }
}

/** Destroys the socket after a time, because Node no longer manages an upgraded connection. */
function refuseUpgrade(socket: Duplex, answer: string): void {
  socket.on('error', () => {})
  socket.resume().end(`HTTP/1.1 ${answer}\r\nConnection: close\r\n\r\n`)
  const timer = setTimeout(() => socket.destroy(), REFUSED_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}

function urlOf(scheme: string, { address, family, port }: AddressInfo): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/** Answers `/healthz`. Healthy means that the process runs and its event loop is not blocked. */
function answerHealth(response: ServerResponse): void {
  respond(response, 200, 'application/json', '{"status":"ok"}\n')
}

/** Answers `/readyz`. Ready means that the database is reachable. Warnings are for the operator. */
async function answerReadiness(
  response: ServerResponse,
  ask: () => Promise<readonly string[]>,
  details: Readonly<Record<string, string>>,
): Promise<void> {
  const warnings = await within(READY_WITHIN_MS, ask()).catch(() => undefined)
  if (warnings === undefined) {
    return answerNotReady(response, isEmbeddedDiskFull() ? 'no database: its disk is full' : 'no database')
  }
  const ready = { status: 'ready', ...details, ...(warnings.length > 0 && { warnings }) }
  respond(response, 200, 'application/json', `${JSON.stringify(ready)}\n`)
}

function answerNotReady(response: ServerResponse, reason: string): void {
  respond(response, 503, 'application/json', `${JSON.stringify({ status: 'not ready', reason })}\n`)
}

/** Answers all requests except health probes while the server starts. */
function answerStarting(response: ServerResponse, path: string, requestId: string): void {
  const { status, body } = startingProblem(path, requestId)
  response.setHeader('Retry-After', '1')
  response.setHeader('Connection', 'close')
  respond(response, status, 'application/problem+json', JSON.stringify(body))
}

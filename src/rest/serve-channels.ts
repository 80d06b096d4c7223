import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { RepriseError } from '../domain/errors.ts'
import { CHANNEL_MESSAGE_BYTES_MAX, CHANNELS_PER_SERVER_MAX, CHANNELS_PER_SESSION_MAX } from '../domain/limits.ts'
import type { OpenSubscriptions } from '../events/open-subscriptions.ts'
import { type Authenticate, identifyBearer } from '../services/access/authenticate.ts'
import { createRefusalLog } from '../services/access/audit.ts'
import { type ChannelHolders, createChannelHolders } from '../channel/channel-holders.ts'
import { type ChannelTarget, findChannelKernel, serveClient } from '../services/agent/channels.ts'
import { webSocketPort } from '../channel/web-socket-port.ts'
import { outageOf } from '../services/database-outage.ts'
import { argumentError } from '../services/input/parse-input.ts'
import type { ServiceContext, Viewer } from '../services/service-context.ts'
import { PROBLEM_TYPE, problemOf } from './problem.ts'

const PATH = /^\/v2\/sessions\/([^/?]+)\/(exec|connect)(?:\?|$)/

/** The socket of a refused client is destroyed after this time. */
const REFUSED_MS = 5_000

export interface ChannelOptions {
  /** Receives the connections that agents open for channels; if missing, no agent connects to this server. */
  channels?: ChannelHolders
  /** The URL at which agents reach this server directly, not through a load balancer. */
  advertisedUrl?: string | undefined
}

interface ChannelsContext extends Pick<ServiceContext, 'db' | 'wake' | 'log'>, ChannelOptions {
  authenticate: Authenticate
  openSubscriptions: OpenSubscriptions
}

/** Serves clients' ends of channels: WebSockets at `/v2/sessions/{id}/exec` and `/v2/sessions/{id}/connect`. */
export interface ServedChannels {
  /** Takes over the socket. @returns false if it is for another path */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, requestId: string): boolean
  /** Ends all channels when the server closes, and resolves when their ends are recorded. */
  end(): Promise<void>
  cutOff(): void
}

interface Wanted {
  viewer: Viewer
  token: string
  target: ChannelTarget
  port: number | null
  /** Whether the client only checks if the channel may be opened. */
  isCheck: boolean
}

/**
 * Reads the token from `Authorization` only. Browsers cannot send that header with a WebSocket, and their cookie is
 * ignored here, so no page of any site can open a channel.
 */
export function serveChannels(context: ChannelsContext): ServedChannels {
  const { db, wake, authenticate, openSubscriptions, log } = context
  const { channels: holders = createChannelHolders(), advertisedUrl: url = null } = context
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: CHANNEL_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
  })
  const refusals = createRefusalLog({ db, log })
  const perSession = new Map<string, number>()
  const underWay = new Set<Promise<void>>()
  let ending = false

  async function authorize(request: IncomingMessage, requestId: string): Promise<Wanted> {
    if (ending) throw new RepriseError('SERVER_STOPPING', 'the server is shutting down; try again, or use another one')
    const address = request.socket.remoteAddress
    const { viewer: known, token } = await identifyBearer(authenticate, request.headers.authorization, address)
    const viewer = { ...known, request: { id: requestId, address: address ?? null } }
    const [, id = '', kind] = PATH.exec(request.url!)!
    const { searchParams } = new URL(request.url!, 'http://localhost')
    try {
      const port = kind === 'connect' ? portOf(searchParams.get('port')) : null
      const target = await findChannelKernel({ db, viewer }, { sessionId: id, name: searchParams.get('kernel') })
      if (underWay.size >= CHANNELS_PER_SERVER_MAX) throw tooMany('this server', CHANNELS_PER_SERVER_MAX)
      const open = perSession.get(target.sessionId) ?? 0
      if (open >= CHANNELS_PER_SESSION_MAX) throw tooMany('this session', CHANNELS_PER_SESSION_MAX)
      return { viewer, token, target, port, isCheck: searchParams.get('check') === 'true' }
    } catch (error) {
      if (error instanceof RepriseError) {
        refusals.note(viewer, { operation: `session.${kind}`, code: error.code, message: error.message })
      }
      throw error
    }
  }

  async function accept(request: IncomingMessage, socket: Duplex, head: Buffer, requestId: string): Promise<void> {
    const { viewer, token, target, port, isCheck } = await authorize(request, requestId)
    if (socket.destroyed) return
    const upgraded = Promise.withResolvers<Parameters<typeof webSocketPort>[0]>()
    sockets.handleUpgrade(request, socket, head, upgraded.resolve)
    const client = webSocketPort(await upgraded.promise)
    if (isCheck) return client.close(1000, '')
    const release = openSubscriptions.openSocket({
      tokenId: viewer.tokenId,
      stillAuthorized: async () => (await authenticate(token)) !== null,
      end: () => client.close(4401, 'The token is no longer valid'),
    })
    perSession.set(target.sessionId, (perSession.get(target.sessionId) ?? 0) + 1)
    const served = serveClient({ db, viewer, wake, log, holders, url }, target, client, port).catch(
      (error: unknown) => {
        log.error({ err: error, requestId, sessionId: target.sessionId }, 'a channel failed unexpectedly')
        client.close(1011, 'Unexpected error')
      },
    )
    await served.finally(() => {
      release()
      const left = perSession.get(target.sessionId)! - 1
      if (left > 0) perSession.set(target.sessionId, left)
      else perSession.delete(target.sessionId)
    })
  }

  return {
    upgrade(request, socket, head, requestId) {
      if (!PATH.test(request.url!)) return false
      socket.on('error', () => socket.destroy())
      const work = accept(request, socket, head, requestId)
        .catch((thrown: unknown) => {
          const error = outageOf(thrown) ?? thrown
          if (!(error instanceof RepriseError)) log.error({ err: error, requestId }, 'a request failed unexpectedly')
          refuse(socket, error, requestId)
        })
        .finally(() => underWay.delete(work))
      underWay.add(work)
      return true
    },
    async end() {
      ending = true
      for (const socket of sockets.clients) socket.close(1001, 'the server is shutting down')
      await Promise.all(underWay)
    },
    cutOff() {
      for (const socket of sockets.clients) socket.terminate()
    },
  }
}

function portOf(text: string | null): number {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0
  if (port < 1 || port > 65_535) throw argumentError('port', 'port must be a number from 1 to 65535')
  return port
}

function tooMany(what: string, max: number): RepriseError {
  return new RepriseError('TOO_MANY_CHANNELS', `${what} has ${max} channels open, and that is the limit`)
}

function refuse(socket: Duplex, error: unknown, requestId: string): void {
  const { status, body } = problemOf(error, requestId)
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${requestId}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
  ]
  // Reads and ignores what the client still sends, to notice when it closes the connection; after REFUSED_MS the
  // connection is closed here.
  socket.resume().end(`${head.join('\r\n')}\r\n\r\n${text}`)
  const timer = setTimeout(() => socket.destroy(), REFUSED_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}

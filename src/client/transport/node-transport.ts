import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { ConnectError, type ConnectionError, ConnectionLostError, ReadTimeoutError } from '../errors.ts'
import type { Timeouts } from '../settings.ts'
import type { HttpAnswer, HttpRequest, Transport } from './transport.ts'

/** In these turns of the event loop, kept sockets that the server has closed are noticed, and not used any more. */
const TURNS_BEFORE_REUSE = 2

/**
 * Sends requests by Node's own HTTP, which distinguishes a connection that was never made from one that broke. Idle
 * sockets do not keep the process running. The modules are loaded for the first request, and not by `import`, which
 * would also load Node's `fetch` and WebSocket: together a third of a command's start.
 */
export function createNodeTransport({ connectSeconds, readSeconds }: Timeouts): Transport {
  const agents = new Map<string, Agent>()

  function open(wanted: HttpRequest): Exchange {
    const { url, method, headers, signal } = wanted
    const isSecure = url.protocol === 'https:'
    const http = isSecure ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')
    const agent = agents.get(url.protocol) ?? new http.Agent({ keepAlive: true })
    agents.set(url.protocol, agent)
    const request = http.request(url, { method, headers, agent, signal })
    const exchange: Exchange = { request, isConnected: false, fault: null }
    const giveUp = (error: ConnectionError) => {
      exchange.fault = error
      request.destroy(error)
    }
    request.once('socket', (socket) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const connected = () => {
        clearTimeout(timer)
        exchange.isConnected = true
        const silent = `${url.origin} was silent for too long`
        if (readSeconds !== null) request.setTimeout(readSeconds * 1000, () => giveUp(new ReadTimeoutError(silent)))
      }
      if (request.reusedSocket) return connected()
      const late = new ConnectError('CONNECT_TIMEOUT', `no connection to ${url.origin} in time`)
      if (connectSeconds !== null) timer = setTimeout(giveUp, connectSeconds * 1000, late)
      socket.once(isSecure ? 'secureConnect' : 'connect', connected)
      socket.once('close', () => clearTimeout(timer))
    })
    return exchange
  }

  async function send(wanted: HttpRequest): Promise<HttpAnswer> {
    for (let turn = 0; turn < TURNS_BEFORE_REUSE; turn++) await nextTurn()
    wanted.signal?.throwIfAborted()
    const exchange = open(wanted)
    let began = false
    try {
      const response = await answerOf(exchange, wanted.body)
      began = true
      return await read(response, wanted.sink && noting(exchange, wanted.sink))
    } catch (error) {
      wanted.signal?.throwIfAborted()
      throw (
        exchange.fault ?? asConnectionError(error as NodeJS.ErrnoException, wanted.url.origin, { ...exchange, began })
      )
    }
  }

  async function close(): Promise<void> {
    for (const agent of agents.values()) agent.destroy()
  }

  return { send, close }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

interface Exchange {
  request: ClientRequest
  /** Whether the connection was made; before that, nothing has been sent. */
  isConnected: boolean
  /** The timeout, or the fault of the body's source or of the response's sink, that ended the request. */
  fault: Error | null
}

/** Keeps an error of the sink apart from those of the connection. */
function noting(exchange: Exchange, sink: NonNullable<HttpRequest['sink']>): NonNullable<HttpRequest['sink']> {
  return async (chunk, status) => {
    try {
      await sink(chunk, status)
    } catch (error) {
      exchange.fault = error as Error
      throw error
    }
  }
}

/** Sends the body while it waits for the response, which may come before all of the body is sent. */
function answerOf(exchange: Exchange, body: HttpRequest['body']): Promise<IncomingMessage> {
  const { request } = exchange
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    request.on('error', reject)
    if (typeof body !== 'function') return void request.end(body ?? undefined)
    void sendChunks(request, body()).catch((error: Error) => {
      exchange.fault = error
      request.destroy(error)
    })
  })
}

async function sendChunks(request: ClientRequest, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    if (request.destroyed) return
    if (request.write(chunk)) continue
    await new Promise<void>((resolve) => {
      const go = () => {
        request.off('drain', go).off('close', go)
        resolve()
      }
      request.once('drain', go).once('close', go)
    })
  }
  request.end()
}

async function read(response: IncomingMessage, sink: HttpRequest['sink']): Promise<HttpAnswer> {
  const { headers, statusCode = 0 } = response
  let text = ''
  if (sink !== undefined && (statusCode === 200 || statusCode === 206)) {
    for await (const chunk of response) await sink(chunk as Buffer, statusCode)
  } else for await (const part of response.setEncoding('utf8')) text += part as string
  return {
    status: statusCode,
    contentType: headers['content-type'] ?? '',
    retryAfter: headers['retry-after'] ?? null,
    requestId: [headers['x-request-id']].flat()[0] ?? null,
    location: headers.location ?? null,
    text,
  }
}

function asConnectionError(
  error: NodeJS.ErrnoException,
  origin: string,
  { isConnected, began }: { isConnected: boolean; began: boolean },
): ConnectionError {
  if (!isConnected) {
    return new ConnectError('CONNECT_FAILED', `no connection to ${origin}: ${error.code ?? error.message}`, error)
  }
  if (began) return new ConnectionLostError('BODY_CUT_OFF', `${origin} broke off its response`, error)
  return new ConnectionLostError('CONNECTION_LOST', `the connection to ${origin} broke`, error)
}

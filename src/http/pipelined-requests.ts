import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'

/**
 * Limits requests that a client sends without waiting for responses. One is served at a time and one more is parsed.
 * The following ones stay as bytes, and nothing more is read from the connection, until the current response has been
 * handed to the system. Without this, Node parses and serves all that it has read at once, up to 2,500 requests, and
 * keeps all responses in memory.
 */

/** HPE_PAUSED of llhttp: `onIncoming` returns it to stop the parser after the head of the request. */
const PAUSE = 21
const NOTHING = Buffer.alloc(0)

/**
 * Total bytes of waiting requests that are kept for all connections without a valid token. One connection may have 64
 * KiB, the most that Node reads at once. A connection that would exceed the total is closed.
 */
const KEPT_BYTES_OF_STRANGERS_MAX = 16 * 1024 * 1024

/** The parser and flow control of Node, which `@types/node` does not declare. */
interface HttpSocket extends Socket {
  _paused: boolean
  parser: {
    onIncoming(request: IncomingMessage, keepAlive: boolean): number
    resume(): void
    execute(bytes: Buffer): unknown
  } | null
}

interface ParserError extends NodeJS.ErrnoException {
  rawPacket?: Buffer
  bytesParsed?: number
}

/** Counts the bytes that are kept for connections without a valid token. */
interface Kept {
  bytes: number
  isKnown(socket: object): boolean
}

/** The requests of one connection. */
interface Turns {
  take(request: IncomingMessage, response: ServerResponse, serve: RequestListener): void
  /** Keeps the bytes that the parser has not read. */
  keep(bytes: Buffer): void
  readonly isBusy: boolean
}

/**
 * Serves the requests of each connection one after the other, in their order.
 * @param isKnown whether the connection has shown a valid token
 * @returns whether a connection has requests that are not answered yet
 */
export function serveInTurns(
  server: Server | TlsServer,
  serve: RequestListener,
  isKnown: (socket: object) => boolean,
): (socket: object) => boolean {
  const connections = new WeakMap<object, Turns>()
  const kept: Kept = { bytes: 0, isKnown }
  const turnsAt = (socket: Socket): Turns => {
    const turns = connections.get(socket) ?? openTurns(socket as HttpSocket, kept)
    connections.set(socket, turns)
    return turns
  }

  server.on('request', (request, response) => turnsAt(request.socket).take(request, response, serve))
  server.on('checkExpectation', (request, response) =>
    turnsAt(request.socket).take(request, response, refuseExpectation),
  )
  server.on('clientError', (error: ParserError, socket: Socket) => {
    if (error.code === 'HPE_PAUSED') turnsAt(socket).keep(error.rawPacket!.subarray(error.bytesParsed))
    else refuseUnreadable(socket, error)
  })
  return (socket) => connections.get(socket)?.isBusy === true
}

function openTurns(socket: HttpSocket, kept: Kept): Turns {
  let answering = false
  /** Functions that start waiting requests. There is at most one, because the parser stops after one request. */
  const waiting: (() => void)[] = []
  let unparsed: Buffer = NOTHING
  /** Bytes that count towards the total, until the connection has shown a token or closed. */
  let counted = 0

  function count(bytes: number): void {
    kept.bytes += bytes - counted
    counted = bytes
  }

  function begin(request: IncomingMessage, response: ServerResponse, serve: RequestListener): void {
    answering = true
    response.once('close', goOn)
    serve(request, response)
  }

  function goOn(): void {
    answering = false
    const beginNext = waiting.shift()
    if (beginNext === undefined || socket.parser === null || !socket.writable) return
    if (waiting.length > 0) return beginNext()
    const bytes = unparsed
    unparsed = NOTHING
    count(0)
    letRead(socket)
    beginNext()
    if (socket.parser === null) return
    socket.parser.resume()
    // Node's listener parses these bytes.
    if (bytes.length > 0) socket.emit('data', bytes)
    if (waiting.length === 0) socket.resume()
  }

  stopBehindHeads(socket, () => waiting.length > 0)
  socket.once('close', () => {
    waiting.length = 0
    unparsed = NOTHING
    count(0)
  })
  return {
    take(request, response, serve) {
      if (!answering) return begin(request, response, serve)
      waiting.push(() => begin(request, response, serve))
      keepFromReading(socket)
    },
    keep(bytes) {
      // The bytes are copied if they are less than half of the buffer, so that the buffer is freed.
      unparsed = bytes.length * 2 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes
      if (!kept.isKnown(socket)) {
        count(unparsed.length)
        if (kept.bytes > KEPT_BYTES_OF_STRANGERS_MAX) return void socket.destroy()
      }
      // Lets the parser finish the request if it has no body. Node would otherwise count it as incomplete, and refuse
      // it at the time limit.
      socket.parser?.resume()
      socket.parser?.execute(NOTHING)
    },
    get isBusy() {
      return answering
    },
  }
}

/** Makes the parser stop after a request. `onIncoming` returns 0 for ordinary requests. */
function stopBehindHeads({ parser }: HttpSocket, isEnough: () => boolean): void {
  if (parser === null) return
  const { onIncoming } = parser
  parser.onIncoming = (request, keepAlive) => onIncoming(request, keepAlive) || (isEnough() ? PAUSE : 0)
}

/**
 * Stops reading from the socket. Node would resume after each request and each drained response, unless `_paused` is
 * true; it also resets that field, so the field is made read-only.
 */
function keepFromReading(socket: HttpSocket): void {
  socket.pause()
  Object.defineProperty(socket, '_paused', { configurable: true, enumerable: true, get: () => true, set: () => {} })
}

function letRead(socket: HttpSocket): void {
  Object.defineProperty(socket, '_paused', { configurable: true, enumerable: true, writable: true, value: false })
}

function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(417, { 'Content-Length': 0 })
  response.end()
}

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Refuses a request as Node does without a listener. Nothing is written into a response that has begun. */
function refuseUnreadable(socket: Socket, error: ParserError): void {
  const { _httpMessage: answer } = socket as { _httpMessage?: { headersSent: boolean } | null }
  if (socket.writable && answer?.headersSent !== true) {
    socket.write(`HTTP/1.1 ${REFUSALS[error.code!] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`)
  }
  socket.destroy(error)
}

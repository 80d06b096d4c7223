import type { Socket } from 'node:net'
import { CloseCode, handleProtocols, type Disposable, type Server } from 'graphql-ws'
import type { Extra } from 'graphql-ws/use/ws'
import type { WebSocket, WebSocketServer } from 'ws'
import type { Logger } from '../observability/log.ts'

/**
 * Joins the sockets of a WebSocket server to the protocol. As `useServer` of graphql-ws, which would print faults past
 * the log, and take what a client must not say for a fault of the server's.
 */
export function joinSockets(
  sockets: WebSocketServer,
  protocol: Server<Extra>,
  { log, pingIntervalMs }: { log: Logger; pingIntervalMs: number },
): Disposable {
  sockets.options.handleProtocols = handleProtocols
  sockets.on('connection', (socket, request) => {
    // The socket closes by itself, with the code that fits.
    socket.on('error', (error) => log.debug({ err: error }, 'a WebSocket met an error'))
    const stopPings = cutOffSilent(socket, request.socket, pingIntervalMs)
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        // Settles when the peer's system has taken it: a slow peer is never sent a second event before.
        send: (text) =>
          new Promise((resolve, reject) => {
            if (socket.readyState !== socket.OPEN) return resolve()
            socket.send(text, (error) => (error ? reject(error) : resolve()))
          }),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (receive) =>
          socket.on('message', (message) => {
            receive(textOf(message)).catch((error: unknown) => closeFor(socket, error, log))
          }),
      },
      { socket, request },
    )
    socket.once('close', (code, reason) => {
      stopPings()
      closed(code, String(reason)).catch((error: unknown) => log.error({ err: error }, 'a WebSocket met a fault'))
    })
  })
  return {
    async dispose() {
      for (const socket of sockets.clients) socket.close(1001, 'Going away')
      sockets.removeAllListeners()
      await new Promise<void>((resolve, reject) => {
        sockets.close((error) => (error ? reject(error) : resolve()))
      })
    },
  }
}

function textOf(message: Buffer | ArrayBuffer | Buffer[]): string {
  return Array.isArray(message) ? Buffer.concat(message).toString() : Buffer.from(message as Buffer).toString()
}

/** Intervals for which a peer that reads may leave a ping unanswered; one that died takes as much as its buffers hold. */
const LATE_INTERVALS_MAX = 25

/**
 * Cuts a peer off that has not answered one ping when the next is due, and has taken nothing of what was sent behind
 * it: a ping waits its turn behind events, so one that reads on slowly answers late.
 */
function cutOffSilent(socket: WebSocket, connection: Socket, pingIntervalMs: number): () => void {
  let late = 0
  let sentBefore = 0
  socket.on('pong', () => (late = 0))
  const look = () => {
    if (socket.readyState !== socket.OPEN) return
    // In bytes; what its system has not taken yet is left out.
    const taken = connection.bytesWritten - connection.writableLength
    if (late > 0 && (taken <= sentBefore || late > LATE_INTERVALS_MAX)) return socket.terminate()
    if (late === 0) socket.ping()
    late += 1
    sentBefore = connection.bytesWritten
  }
  // Behind what has come in meanwhile: where this process was held up, answers wait to be read.
  const timer = setInterval(() => setImmediate(look), pingIntervalMs)
  return () => clearInterval(timer)
}

function closeFor(socket: WebSocket, error: unknown, log: Logger): void {
  // graphql-ws says so of messages that only servers send.
  if (error instanceof Error && error.message.startsWith('Unexpected message of type')) {
    return socket.close(CloseCode.BadRequest, 'Invalid message received')
  }
  // An answer that was under way when the socket went.
  if (socket.readyState !== socket.OPEN) return
  log.error({ err: error }, 'a WebSocket met a fault')
  socket.close(CloseCode.InternalServerError, 'Internal server error')
}

import type { Socket } from 'node:net'
import { CloseCode, type Disposable, handleProtocols, type Server } from 'graphql-ws'
import type { Extra } from 'graphql-ws/use/ws'
import type { WebSocket, WebSocketServer } from 'ws'
import type { Logger } from '../../observability/log.ts'
import { isKnown } from '../../services/access/authenticate.ts'
import { guarded } from '../../waiting/wait.ts'

/**
 * Connects the sockets of a WebSocket server to graphql-ws. Replaces its `useServer`, which prints errors instead of
 * logging them and treats protocol violations of clients as faults of the server.
 */
export function joinSockets(
  sockets: WebSocketServer,
  protocol: Server<Extra>,
  options: {
    log: Logger
    pingIntervalMs: number
    /**
     * Called when a client no longer waits for the operation with this id. graphql-ws reports this for subscriptions
     * only.
     */
    onComplete(connection: Extra, id: string): void
  },
): Disposable {
  const { log, pingIntervalMs, onComplete } = options
  sockets.options.handleProtocols = handleProtocols
  sockets.on('connection', (socket, request) => {
    // The socket closes itself with the appropriate code.
    socket.on('error', (error) => log.debug({ err: error }, 'a WebSocket had an error'))
    const connection = { socket, request }
    const stopPings = cutOffSilent(socket, request.socket, pingIntervalMs)
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        // Settles once the socket has passed on the data, so a slow peer is sent one event at a time.
        send: (text) =>
          new Promise((resolve, reject) => {
            if (socket.readyState !== socket.OPEN) return resolve()
            socket.send(text, (error) => (error ? reject(error) : resolve()))
          }),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (receive) =>
          takeInTurns(
            socket,
            request.socket,
            (text) => {
              const id = completedBy(text)
              if (id !== undefined) onComplete(connection, id)
              receive(text).catch((error: unknown) => closeFor(socket, error, log))
            },
            log,
          ),
      },
      connection,
    )
    socket.once('close', (code, reason) => {
      stopPings()
      closed(code, String(reason)).catch((error: unknown) =>
        log.error({ err: error }, 'a WebSocket failed unexpectedly'),
      )
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

/**
 * Limits the size of messages of an open socket, from the next message on: the socket closes with 1009 as soon as the
 * head of a longer message arrives. The public interface of ws has only one limit for all sockets of a server.
 */
export function boundMessages(socket: WebSocket, bytesMax: number): void {
  const { _receiver: receiver } = socket as unknown as { _receiver: { _maxPayload: number } }
  receiver._maxPayload = bytesMax
}

/** Messages of one socket that are handled before other sockets have their turn: one packet can contain a thousand. */
const MESSAGES_PER_TURN_MAX = 50

/**
 * Bytes that a peer may leave unread before its further messages wait. A peer whose token is not known yet can still
 * cause output: the answer to a ping is as large as the ping.
 */
const UNREAD_BYTES_OF_STRANGERS_MAX = 64 * 1024
const UNREAD_BYTES_MAX = 4 * 1024 * 1024
/**
 * Maximum number of waiting messages of a peer whose token is not known yet. Such a peer has to send only one message,
 * and perhaps a ping.
 */
const WAITING_OF_STRANGERS_MAX = 100

function takeInTurns(socket: WebSocket, connection: Socket, take: (text: string) => void, log: Logger): void {
  const waiting: string[] = []
  let taken = 0
  let turnDue = false
  const mayTake = () =>
    taken < MESSAGES_PER_TURN_MAX &&
    socket.bufferedAmount <= (isKnown(connection) ? UNREAD_BYTES_MAX : UNREAD_BYTES_OF_STRANGERS_MAX)
  const nextTurn = () => {
    turnDue = false
    taken = 0
    while (waiting.length > 0 && mayTake()) takeOne(waiting.shift()!)
    if (waiting.length === 0 && socket.isPaused) socket.resume()
  }
  const takeOne = (text: string) => {
    taken++
    dueTurn()
    guarded(take, (error) => closeFor(socket, error, log))(text)
  }
  const dueTurn = () => {
    if (turnDue) return
    turnDue = true
    setImmediate(nextTurn)
  }
  connection.on('drain', dueTurn)
  socket.on('message', (message) => {
    if (waiting.length === 0 && mayTake()) return takeOne(textOf(message))
    if (waiting.length >= WAITING_OF_STRANGERS_MAX && !isKnown(connection)) return socket.terminate()
    waiting.push(textOf(message))
    if (!socket.isPaused) socket.pause()
  })
}

/** A message of the type `complete` has little beside its id, so longer ones aren't parsed twice. */
const COMPLETE_CHARACTERS_MAX = 512

function completedBy(text: string): string | undefined {
  if (text.length > COMPLETE_CHARACTERS_MAX || !text.includes('"complete"')) return undefined
  try {
    const message = JSON.parse(text) as { type?: unknown; id?: unknown } | null
    return message?.type === 'complete' && typeof message.id === 'string' ? message.id : undefined
  } catch {
    // graphql-ws closes the socket for this message.
    return undefined
  }
}

function textOf(message: Buffer | ArrayBuffer | Buffer[]): string {
  return Array.isArray(message) ? Buffer.concat(message).toString() : Buffer.from(message as Buffer).toString()
}

/**
 * Number of ping intervals for which a peer that still reads may leave a ping unanswered. A dead peer seems to read
 * until the buffers are full.
 */
const LATE_INTERVALS_MAX = 25

/**
 * Disconnects a peer that has not answered a ping when the next one is due and has read nothing that was sent after it:
 * pings queue behind events, so a slow reader answers late.
 */
function cutOffSilent(socket: WebSocket, connection: Socket, pingIntervalMs: number): () => void {
  let late = 0
  let sentBefore = 0
  socket.on('pong', () => (late = 0))
  const ping = () => {
    if (socket.readyState !== socket.OPEN) return
    // Bytes sent, without those that this process still buffers.
    const taken = connection.bytesWritten - connection.writableLength
    if (late > 0 && (taken <= sentBefore || late > LATE_INTERVALS_MAX)) return socket.terminate()
    if (late === 0) socket.ping()
    late += 1
    sentBefore = connection.bytesWritten
  }
  // `setImmediate` lets pending input be read first: if this process was busy, pongs may be waiting to be read.
  const timer = setInterval(() => setImmediate(ping), pingIntervalMs)
  return () => clearInterval(timer)
}

function closeFor(socket: WebSocket, error: unknown, log: Logger): void {
  // graphql-ws throws this error if a client sends a message of a type that only servers may send.
  if (error instanceof Error && error.message.startsWith('Unexpected message of type')) {
    return socket.close(CloseCode.BadRequest, 'Invalid message received')
  }
  // A response was in progress when the socket closed.
  if (socket.readyState !== socket.OPEN) return
  log.error({ err: error }, 'a WebSocket failed unexpectedly')
  socket.close(CloseCode.InternalServerError, 'Internal server error')
}

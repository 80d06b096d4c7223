import type { RawData, WebSocket } from 'ws'
import type { ChannelPort } from '../domain/agent/channel-protocol.ts'
import { CHANNEL_PING_INTERVAL_MS, CHANNEL_WINDOW_BYTES } from '../domain/limits.ts'
import { createMessageQueue } from './port-pair.ts'

/** How long a closing may take before the connection is cut. */
const CLOSE_WITHIN_MS = 3_000
/** The protocol of WebSockets allows 123 bytes. */
const REASON_BYTES_MAX = 120

/**
 * An open WebSocket as an end of a channel. Each side pings the other, and a side that has not answered a ping when the
 * next one is due counts as gone.
 */
export function webSocketPort(socket: WebSocket): ChannelPort {
  const queue = createMessageQueue((full) => {
    if (full) socket.pause()
    else socket.resume()
  })
  let answered = true
  const pings = setInterval(() => {
    if (!answered) return socket.terminate()
    answered = false
    socket.ping()
  }, CHANNEL_PING_INTERVAL_MS)
  socket.on('pong', () => (answered = true))
  socket.on('message', (data, isBinary) => queue.put(isBinary ? bytesOf(data) : String(bytesOf(data))))
  // The socket closes by itself, which its `close` event reports.
  socket.on('error', () => {})
  socket.once('close', (code, reason) => {
    clearInterval(pings)
    queue.end({ code, reason: String(reason) })
  })
  return {
    send(message) {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (socket.readyState !== socket.OPEN) return Promise.resolve()
      socket.send(message, () => resolve())
      return socket.bufferedAmount < CHANNEL_WINDOW_BYTES ? Promise.resolve() : promise
    },
    receive: queue.receive,
    close(code, reason) {
      if (socket.readyState === socket.CLOSED) return
      socket.close(code, cut(reason))
      setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS).unref()
    },
    closed: queue.closed,
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}

function cut(reason: string): string {
  return Buffer.from(reason)
    .subarray(0, REASON_BYTES_MAX)
    .toString()
    .replace(/\uFFFD+$/, '')
}

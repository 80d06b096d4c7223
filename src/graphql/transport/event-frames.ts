import type { Socket } from 'node:net'
import type { ExecutionResult } from 'graphql'
import type { WebSocket } from 'ws'
import { SUBSCRIBERS_PER_TURN_MAX } from '../../domain/limits.ts'
import { nextTurn } from '../../services/next-turn.ts'
import type { EventResults } from '../execution/events-together.ts'
import { isShared, noteShared, payloadOf } from '../execution/shared-results.ts'

/** After so many bytes a write ends: at most this, and one more result, waits in the process for a slow peer. */
const WRITE_BYTES = 64 * 1024

/** Where the results of one subscription go: the socket, and the client's id of the operation. */
export interface Receiver {
  socket: WebSocket
  connection: Socket
  id: string
}

/**
 * Sends the results of a subscription, several in one write. Yields none of them: graphql-ws, which serialises each
 * result for each subscription and awaits it by itself, only learns of the end. A slow peer delays only itself: it is
 * sent more when its socket has taken what it was sent before.
 */
export function sendTogether(results: EventResults, receiver: Receiver): AsyncIterableIterator<ExecutionResult> {
  return {
    async next() {
      for (;;) {
        const some = await results.nextTogether()
        if (some.length === 0) return { done: true, value: undefined }
        for (const few of inWrites(some)) if (!results.ended) await send(receiver, few)
      }
    },
    return: () => results.return!(),
    throw: (error) => results.throw!(error),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function* inWrites(results: readonly ExecutionResult[]): Generator<readonly ExecutionResult[], void, void> {
  let from = 0
  let bytes = 0
  for (const [at, result] of results.entries()) {
    bytes += payloadOf(result).length
    if (bytes < WRITE_BYTES) continue
    yield results.slice(from, at + 1)
    from = at + 1
    bytes = 0
  }
  if (from < results.length) yield results.slice(from)
}

async function send({ socket, connection, id }: Receiver, results: readonly ExecutionResult[]): Promise<void> {
  if (socket.readyState !== socket.OPEN) return
  const taken = connection.write(framesOf(id, results))
  if (!taken) await drained(connection)
  if (mustYield()) await nextTurn()
}

let writtenThisTurn = 0

function mustYield(): boolean {
  if (writtenThisTurn++ === 0) setImmediate(() => (writtenThisTurn = 0))
  return writtenThisTurn > SUBSCRIBERS_PER_TURN_MAX
}

/** One promise for all subscriptions of a socket. */
const draining = new WeakMap<Socket, Promise<void>>()

function drained(connection: Socket): Promise<void> {
  const known = draining.get(connection)
  if (known) return known
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = () => {
    connection.off('drain', end).off('close', end)
    draining.delete(connection)
    resolve()
  }
  connection.on('drain', end).on('close', end)
  if (connection.destroyed) end()
  else draining.set(connection, promise)
  return promise
}

interface Frames {
  id: string
  results: readonly ExecutionResult[]
  bytes: Buffer
}

/**
 * The newest frames that end with a result. Subscriptions that are equally far receive the same bytes if their clients
 * gave them the same id.
 */
const newest = new WeakMap<ExecutionResult, Frames>()

function framesOf(id: string, results: readonly ExecutionResult[]): Buffer {
  const last = results.at(-1)!
  const known = newest.get(last)
  if (known?.id === id && known.results.length === results.length && known.results.every(isAt(results)))
    return known.bytes
  const begin = Buffer.from(`{"id":${JSON.stringify(id)},"type":"next","payload":`)
  const bytes = Buffer.concat(results.flatMap((result) => frameOf(begin, payloadOf(result))))
  if (isShared(last)) {
    newest.set(last, { id, results, bytes })
    noteShared(bytes.length)
  }
  return bytes
}

function isAt(results: readonly ExecutionResult[]): (result: ExecutionResult, at: number) => boolean {
  return (result, at) => result === results[at]
}

const END = Buffer.from('}')
/** An unmasked text message in one frame (RFC 6455, 5.2). */
const FINAL_TEXT = 0x81
const LENGTH_IN_7_BITS_MAX = 125
const LENGTH_IN_16_BITS_MAX = 0xffff

function frameOf(begin: Buffer, payload: Buffer): Buffer[] {
  const length = begin.length + payload.length + END.length
  return [headOf(length), begin, payload, END]
}

function headOf(length: number): Buffer {
  if (length <= LENGTH_IN_7_BITS_MAX) return Buffer.from([FINAL_TEXT, length])
  const isShort = length <= LENGTH_IN_16_BITS_MAX
  const head = Buffer.alloc(isShort ? 4 : 10)
  head[0] = FINAL_TEXT
  head[1] = LENGTH_IN_7_BITS_MAX + (isShort ? 1 : 2)
  if (isShort) head.writeUInt16BE(length, 2)
  else head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

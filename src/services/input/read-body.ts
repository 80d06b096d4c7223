import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../../domain/errors.ts'
import { describeBytes } from '../../domain/amounts.ts'

/** Bodies whose memory is kept for the next ones. */
const FREE_MAX = 2

/** The client disconnected before its request was complete, so no answer can be sent. */
export class RequestGone extends Error {}

export interface BodyBounds {
  bytesMax: number
  /** The time to receive the whole body; if missing, only the HTTP server's own limit applies. */
  withinMs?: number
  /**
   * Checks each chunk.
   * @returns a description of the exceeded bound
   */
  excessOf?: (chunk: Buffer) => string | undefined
  /** Builds the message of the refusal. */
  messageOf?: (excess: string) => string
  /** Memory of `bytesMax` bytes for the body, which is then a part of it. */
  memory?: Buffer
}

/**
 * Reads the body of a request. A body that exceeds a bound is not kept in memory, and its rest is discarded, because a
 * client that is still writing would otherwise not read the answer.
 *
 * @throws RepriseError REQUEST_TOO_LARGE, REQUEST_TIMEOUT
 * @throws RequestGone
 */
export async function readBody(
  request: IncomingMessage,
  { bytesMax, withinMs, excessOf, memory, messageOf = (excess) => `The request is too large: ${excess}.` }: BodyBounds,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let bytes = 0
  const refuse = (excess: string) => {
    request.off('data', onData)
    reject(new RepriseError('REQUEST_TOO_LARGE', messageOf(excess)))
  }
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    const excess = bytes > bytesMax ? limitOf(bytesMax) : excessOf?.(chunk)
    if (excess !== undefined) refuse(excess)
    else if (memory === undefined) chunks.push(chunk)
    else memory.set(chunk, bytes - chunk.length)
  }
  const onEnd = () => {
    // The body is complete, so the `close` that follows at once is not a failure.
    request.off('close', onGone)
    if (memory !== undefined) resolve(memory.subarray(0, bytes))
    else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes))
  }
  const onGone = () => reject(new RequestGone('the client disconnected'))
  const late = () =>
    reject(new RepriseError('REQUEST_TIMEOUT', `the request did not arrive within ${withinMs! / 1000} s`))
  const timer = withinMs === undefined ? undefined : setTimeout(late, withinMs)
  if (request.destroyed) onGone()
  else if (Number(request.headers['content-length']) > bytesMax) refuse(limitOf(bytesMax))
  else request.on('data', onData)
  request.once('end', onEnd).once('close', onGone).once('error', onGone)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    // The error listener stays, because a connection that breaks later is no error of ours.
    request.off('data', onData).off('end', onEnd).off('close', onGone).resume()
  }
}

/**
 * Bounds the memory for large bodies: at most so many are there at once, from their first byte until the work on them is
 * done. More are refused, so that slow senders do not hold up others. Their memory is used again: memory of this size
 * that is allocated for each body makes V8 collect its whole heap every few bodies.
 *
 * @param bytesMax of each body
 */
export function createBodyRoom(
  atOnce: number,
  bytesMax: number,
): <T>(
  request: IncomingMessage,
  bounds: Omit<BodyBounds, 'bytesMax'>,
  work: (body: Buffer) => Promise<T>,
) => Promise<T> {
  let underWay = 0
  const free: Buffer[] = []
  return async (request, bounds, work) => {
    if (underWay >= atOnce)
      throw new RepriseError(
        'TOO_MANY_REQUESTS',
        'The server receives as much as it can at the moment. Try again later.',
      )
    underWay++
    const memory = free.pop() ?? Buffer.allocUnsafeSlow(bytesMax)
    try {
      return await work(await readBody(request, { ...bounds, bytesMax, memory }))
    } finally {
      underWay--
      if (free.length < FREE_MAX) free.push(memory)
    }
  }
}

/**
 * Parses UTF-8 bytes as JSON.
 * @throws RepriseError MALFORMED_REQUEST; its message begins with `what`
 */
export function parseJson(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new RepriseError('MALFORMED_REQUEST', `${what}: ${(error as Error).message.slice(0, 200)}`)
  }
}

function limitOf(bytesMax: number): string {
  return `the limit is ${describeBytes(bytesMax)}`
}

import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../../domain/errors.ts'

/** The client disconnected before its request was complete, so there is nobody to answer. */
export class RequestGone extends Error {}

export interface BodyBounds {
  bytesMax: number
  /** For receiving all of it; without it, the HTTP server's own limit holds. */
  withinMs?: number
  /** Looks at each piece. @returns what is too much, in words */
  excessOf?: (chunk: Buffer) => string | undefined
  /** The message that refuses what is too much. */
  messageOf?: (excess: string) => string
}

/**
 * Reads the body of a request. One that exceeds a bound is not kept in memory, and its rest is discarded: a client that
 * is still writing would otherwise not read the answer.
 *
 * @throws RepriseError REQUEST_TOO_LARGE, REQUEST_TIMEOUT
 * @throws RequestGone
 */
export async function readBody(
  request: IncomingMessage,
  { bytesMax, withinMs, excessOf, messageOf = (excess) => `The request is too large: ${excess}.` }: BodyBounds,
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
    if (excess === undefined) chunks.push(chunk)
    else refuse(excess)
  }
  const onEnd = () => {
    // It closes before whoever waits here goes on: no error is made of that.
    request.off('close', onGone)
    resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes))
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
    // The listener of errors stays: what breaks off later is nobody's fault.
    request.off('data', onData).off('end', onEnd).off('close', onGone).resume()
  }
}

function limitOf(bytesMax: number): string {
  return `the limit is ${bytesMax} bytes`
}

/** Bytes as JSON in UTF-8. @throws RepriseError MALFORMED_REQUEST; its message begins with `what` */
export function parseJson(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new RepriseError('MALFORMED_REQUEST', `${what}: ${(error as Error).message.slice(0, 200)}`)
  }
}

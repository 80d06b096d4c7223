import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../../domain/errors.ts'

/** The client disconnected before its request was complete, so there is nobody to answer. */
export class RequestGone extends Error {}

/**
 * Reads a request's body as JSON in UTF-8. A body over the limit is not kept in memory.
 *
 * @throws RepriseError REQUEST_TOO_LARGE, REQUEST_TIMEOUT, MALFORMED_REQUEST
 * @throws RequestGone
 */
export async function readJson(
  request: IncomingMessage,
  limits: { bytesMax: number; withinMs: number },
): Promise<unknown> {
  return parse(await readBody(request, limits))
}

async function readBody(
  request: IncomingMessage,
  { bytesMax, withinMs }: { bytesMax: number; withinMs: number },
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let bytes = 0
  const tooLarge = () =>
    reject(new RepriseError('REQUEST_TOO_LARGE', `the request is too large: the limit is ${bytesMax} bytes`))
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > bytesMax) tooLarge()
    else chunks.push(chunk)
  }
  const onEnd = () => resolve(Buffer.concat(chunks, bytes))
  const onGone = () => reject(new RequestGone('the client disconnected'))
  const timer = setTimeout(
    () => reject(new RepriseError('REQUEST_TIMEOUT', `the request did not arrive within ${withinMs / 1000} s`)),
    withinMs,
  )
  if (Number(request.headers['content-length']) > bytesMax) tooLarge()
  else request.on('data', onData)
  request.once('end', onEnd).once('close', onGone).once('error', onGone)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    request.off('data', onData).off('end', onEnd).off('close', onGone)
    // Discards the rest of a refused body: a client that is still writing would otherwise not read the answer.
    request.resume()
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    throw new RepriseError('MALFORMED_REQUEST', `not JSON in UTF-8: ${(error as Error).message.slice(0, 200)}`)
  }
}

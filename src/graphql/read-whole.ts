import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../domain/errors.ts'

/**
 * The body of a request as text; null if the client hung up before the end. The HTTP server limits how long it may
 * take to arrive.
 * @throws RepriseError REQUEST_TOO_LARGE; the rest of the request is discarded
 */
export function readWhole(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  const chunks: Buffer[] = []
  let bytes = 0
  const refuse = () => {
    request.off('data', take).resume()
    reject(new RepriseError('REQUEST_TOO_LARGE', `The request is too large: the limit is ${bytesMax} bytes.`))
  }
  const take = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > bytesMax) refuse()
    else chunks.push(chunk)
  }
  if (Number(request.headers['content-length']) > bytesMax) refuse()
  else request.on('data', take)
  request.once('end', () => resolve((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)).toString()))
  request.once('error', () => resolve(null))
  request.once('close', () => resolve(null))
  return promise
}

import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../../domain/errors.ts'
import { exceeded, JsonCounter, type JsonBounds } from '../../domain/json-bounds.ts'

export interface WholeBody {
  text: string
  bytes: number
}

/**
 * The body of a request as UTF-8; null if the client hung up before the end. The HTTP server limits how long it may
 * take to arrive.
 * @throws RepriseError REQUEST_TOO_LARGE, for its bytes or for what its JSON holds; the rest of it is discarded
 */
export function readWhole(
  request: IncomingMessage,
  { bytesMax, json }: { bytesMax: number; json: JsonBounds },
): Promise<WholeBody | null> {
  const { promise, resolve, reject } = Promise.withResolvers<WholeBody | null>()
  const chunks: Buffer[] = []
  const counter = new JsonCounter()
  let bytes = 0
  const refuse = (why: string) => {
    request.off('data', take).resume()
    reject(new RepriseError('REQUEST_TOO_LARGE', `The request is too large: ${why}.`))
  }
  const tooLong = () => refuse(`the limit is ${bytesMax} bytes`)
  const take = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > bytesMax) return tooLong()
    counter.add(chunk)
    const excess = exceeded(counter, json)
    if (excess !== undefined) return refuse(excess)
    chunks.push(chunk)
  }
  if (Number(request.headers['content-length']) > bytesMax) tooLong()
  else request.on('data', take)
  request.once('end', () =>
    resolve({ text: (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)).toString(), bytes }),
  )
  request.once('error', () => resolve(null))
  request.once('close', () => resolve(null))
  return promise
}

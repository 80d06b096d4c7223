import { RepriseError } from '../domain/errors.ts'
import { excessOf } from '../domain/json-bounds.ts'
import { REQUEST_BYTES_MAX, REQUEST_VALUES_MAX } from '../domain/limits.ts'

/** Reads a JSON body of any shape; the service validates its content. @throws RepriseError */
export async function readJsonBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new RepriseError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON: `Content-Type: application/json`.')
  }
  const bytes = await readBounded(request)
  const value = parse(bytes)
  const excess = excessOf(value, REQUEST_VALUES_MAX)
  if (excess !== undefined) throw new RepriseError('REQUEST_TOO_LARGE', `The request is too large: ${excess}.`)
  return value
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const why = (error as Error).message.slice(0, 200)
    throw new RepriseError('MALFORMED_REQUEST', `The body is not JSON in UTF-8: ${why}`)
  }
}

/** Reads a JSON body that must be an object. @throws RepriseError */
export async function readJsonObject(request: Request): Promise<object> {
  const body = await readJsonBody(request)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  const message = 'must be an object'
  throw new RepriseError('VALIDATION_FAILED', `The body ${message}.`, [{ path: '', message }])
}

/** A body over the limit is not kept in memory. */
async function readBounded(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = Number(request.headers.get('content-length') ?? 0)
  if (bytes > REQUEST_BYTES_MAX) throw tooLarge()
  bytes = 0
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.byteLength
      if (bytes > REQUEST_BYTES_MAX) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    // The client disconnected or was too slow; nobody is left to read the answer.
    throw error instanceof RepriseError ? error : new RepriseError('MALFORMED_REQUEST', 'The body is incomplete.')
  }
  return Buffer.concat(chunks)
}

function tooLarge(): RepriseError {
  return new RepriseError('REQUEST_TOO_LARGE', `The request is too large: the limit is ${REQUEST_BYTES_MAX} bytes.`)
}

import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../domain/errors.ts'
import { excessOf } from '../domain/json-bounds.ts'
import { REQUEST_BYTES_MAX, REQUEST_VALUES_MAX } from '../domain/limits.ts'
import { parseJson, readBody, RequestGone } from '../services/input/read-body.ts'
import { camelCase, renamed } from './snake-case.ts'

/** Input fields whose values are enum words, or lists of such words. */
const WORDS: ReadonlySet<string> = new Set([
  'sessionType',
  'clusterMode',
  'preset',
  'backoff',
  'jitter',
  'eligibleCauses',
  'causes',
  'action',
  'avoid',
  'exclude',
  'overlap',
])

/** Reads any JSON body; the service validates its content. @throws RepriseError */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new RepriseError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON: `Content-Type: application/json`.')
  }
  const bytes = await readBody(request, { bytesMax: REQUEST_BYTES_MAX }).catch((error: unknown) => {
    // The client has disconnected and will not read the answer.
    throw error instanceof RequestGone ? new RepriseError('MALFORMED_REQUEST', 'The body is incomplete.') : error
  })
  const value = parseJson(bytes, 'The body is not JSON in UTF-8')
  const excess = excessOf(value, REQUEST_VALUES_MAX)
  if (excess !== undefined) throw new RepriseError('REQUEST_TOO_LARGE', `The request is too large: ${excess}.`)
  return value
}

/** Reads a JSON body that must be an object. @throws RepriseError */
export async function readJsonObject(request: IncomingMessage): Promise<object> {
  const body = await readJsonBody(request)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  const message = 'must be an object'
  throw new RepriseError('VALIDATION_FAILED', `The body ${message}.`, [{ path: '', message }])
}

/**
 * Converts a body to the form that services read: names in camelCase, enum words in capitals. Names of slots and labels
 * are values and stay.
 */
export function writtenInput(body: unknown): unknown {
  return inCapitals(renamed(body, camelCase))
}

function inCapitals(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCapitals)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, WORDS.has(name) ? capitals(item) : inCapitals(item)]),
  )
}

function capitals(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(capitals)
  return typeof value === 'string' ? value.toUpperCase() : value
}

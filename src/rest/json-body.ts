import type { IncomingMessage } from 'node:http'
import { z } from '@hono/zod-openapi'
import { RepriseError } from '../domain/errors.ts'
import { exceeded, excessOf, type JsonBounds, JsonCounter } from '../domain/json-bounds.ts'
import {
  CREATE_SESSIONS_BYTES_MAX,
  CREATE_SESSIONS_VALUES_MAX,
  REASON_LENGTH_MAX,
  REQUEST_BYTES_MAX,
  REQUEST_VALUES_MAX,
} from '../domain/limits.ts'
import { isStorableText, STORABLE_TEXT } from '../domain/storable-text.ts'
import { parseInput } from '../services/input/parse-input.ts'
import type { Viewer } from '../services/service-context.ts'
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
  'onFailure',
  'condition',
  'states',
  'role',
])

interface Bounds {
  bytesMax: number
  valuesMax: JsonBounds
}

const USUAL: Bounds = { bytesMax: REQUEST_BYTES_MAX, valuesMax: REQUEST_VALUES_MAX }
/** Bounds of a body with many sessions. */
export const BULK: Bounds = { bytesMax: CREATE_SESSIONS_BYTES_MAX, valuesMax: CREATE_SESSIONS_VALUES_MAX }

/** Reads any JSON body; the service validates its content. @throws RepriseError */
export async function readJsonBody(request: IncomingMessage, { bytesMax, valuesMax } = USUAL): Promise<unknown> {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new RepriseError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON: `Content-Type: application/json`.')
  }
  const counter = new JsonCounter()
  const count = (chunk: Buffer) => {
    counter.add(chunk)
    return exceeded(counter, valuesMax)
  }
  // The values of a usual body are counted once it is parsed, which takes little time.
  const counted = bytesMax > USUAL.bytesMax ? { excessOf: count } : {}
  const bytes = await readBody(request, { bytesMax, ...counted }).catch((error: unknown) => {
    // The client has disconnected and will not read the answer.
    throw error instanceof RequestGone ? new RepriseError('MALFORMED_REQUEST', 'The body is incomplete.') : error
  })
  const value = parseJson(bytes, 'The body is not JSON in UTF-8')
  const excess = excessOf(value, valuesMax)
  if (excess !== undefined) throw new RepriseError('REQUEST_TOO_LARGE', `The request is too large: ${excess}.`)
  return value
}

/** Reads a JSON body that must be an object. @throws RepriseError */
export async function readJsonObject(request: IncomingMessage, bounds = USUAL): Promise<object> {
  const body = await readJsonBody(request, bounds)
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

const reasonSchema = z.object({
  reason: z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
})

/** The JSON Schema of the reason of a change, which is recorded in the audit log. */
export const REASON = { type: ['string', 'null'], description: 'The reason, for people; recorded in the audit log.' }

/** The same as a query parameter, for requests without a body. */
export const reasonParameter = () =>
  z.string().min(1).max(REASON_LENGTH_MAX).optional().openapi({ description: REASON.description })

/**
 * Reads a JSON body in the form that services read, and takes the reason out of it, for the entry in the audit log.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readChange<Context extends { viewer: Viewer }>(
  context: Context,
  request: IncomingMessage,
): Promise<{ context: Context; input: object }> {
  const { reason: given, ...input } = writtenInput(await readJsonObject(request)) as { reason?: unknown }
  const { reason } = parseInput(reasonSchema, { reason: given })
  return { context: withReason(context, reason), input }
}

export function withReason<Context extends { viewer: Viewer }>(
  context: Context,
  reason: string | null | undefined,
): Context {
  return reason == null ? context : { ...context, viewer: { ...context.viewer, reason } }
}

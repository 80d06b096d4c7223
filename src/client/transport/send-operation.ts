import { errorOfFaults, InternalError, UnavailableError, type GraphQLFault } from '../api-errors.ts'
import {
  ConnectError,
  ConnectionError,
  ConnectionLostError,
  HttpStatusError,
  type RepriseClientError,
} from '../errors.ts'
import type { OnProgress } from '../progress.ts'
import { judgeAnswer, parseRetryAfter } from '../retry/http-schedule.ts'
import { nextAttemptDelay } from '../retry/network-schedule.ts'
import { pause } from '../retry/pause.ts'
import type { RetryConfig } from '../retry/retry-config.ts'
import type { Endpoint, Endpoints } from './endpoints.ts'
import { postFollowing } from './follow-redirects.ts'
import type { HttpAnswer, Transport } from './transport.ts'

export interface Operation {
  /** For people. */
  name: string
  text: string
  variables: object
  /** Whether the server may receive it twice. If not, it is repeated only if it cannot have arrived. */
  repeatable: boolean
  signal?: AbortSignal
  onProgress?: OnProgress
}

export interface Sender {
  transport: Transport
  endpoints: Endpoints
  retry: RetryConfig
  token: string | undefined
}

/**
 * Two layers. The inner HTTP layer repeats the request after certain responses, and when a server gives none, it moves
 * on to the next. The outer network layer repeats the whole operation if no server gave a complete response. What
 * the HTTP layer gives up on, the network layer leaves alone.
 * @throws RepriseClientError; the signal's reason
 */
export async function sendOperation(sender: Sender, operation: Operation): Promise<unknown> {
  const { network } = sender.retry
  const began = performance.now()
  for (let failed = 1; ; failed++) {
    try {
      return await sendUntilAnswered(sender, operation)
    } catch (error) {
      operation.signal?.throwIfAborted()
      if (network === null || !network.retryIf(error) || !mayRepeat(operation, error)) throw error
      const elapsedSeconds = (performance.now() - began) / 1000
      const delaySeconds = nextAttemptDelay(network, { failed, elapsedSeconds }, Math.random)
      if (delaySeconds === null) throw error
      const { name, onProgress } = operation
      onProgress?.({
        kind: 'retry',
        layer: 'network',
        operation: name,
        failed,
        delaySeconds,
        error: error as RepriseClientError,
      })
      await pause(delaySeconds, operation.signal)
    }
  }
}

/** The HTTP layer. */
async function sendUntilAnswered(sender: Sender, operation: Operation): Promise<unknown> {
  const { http } = sender.retry
  for (let failed = 1; ; failed++) {
    const { endpoint, answer } = await sendSomewhere(sender, operation)
    const outcome = readAnswer(answer)
    if ('data' in outcome) return outcome.data
    const { error } = outcome
    const fault = statusOfFault(answer, error)
    const retryAfterSeconds = parseRetryAfter(answer.retryAfter, Date.now())
    if (fault !== null && fault >= 500) sender.endpoints.failed(endpoint, retryAfterSeconds)
    if (http === null || fault === null || !(operation.repeatable || wasNotBegun(error))) throw error
    const verdict = judgeAnswer(http, { status: fault, retryAfterSeconds }, failed)
    if (verdict.action !== 'retry') throw error
    // There is no need to wait before trying another server.
    const delaySeconds = fault >= 500 && sender.endpoints.anyRested() ? 0 : verdict.delaySeconds
    const { name, onProgress } = operation
    onProgress?.({ kind: 'retry', layer: 'http', operation: name, failed, delaySeconds, error })
    await pause(delaySeconds, operation.signal)
  }
}

/** Tries one server after the other until one responds. */
async function sendSomewhere(
  sender: Sender,
  operation: Operation,
): Promise<{ endpoint: Endpoint; answer: HttpAnswer }> {
  const asked = new Set<Endpoint>()
  let endpoint = sender.endpoints.choose()!
  for (;;) {
    try {
      const answer = await post(sender, endpoint, operation)
      if (isStarting(answer)) throw new ConnectError('CONNECT_FAILED', 'The server is starting')
      if (answer.status < 500) sender.endpoints.answered(endpoint)
      return { endpoint, answer }
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error
      sender.endpoints.failed(endpoint)
      asked.add(endpoint)
      const next = mayRepeat(operation, error) ? sender.endpoints.choose(asked) : null
      if (next === null) throw error
      const { name, onProgress } = operation
      const layer = 'endpoint'
      onProgress?.({ kind: 'retry', layer, operation: name, failed: asked.size, delaySeconds: 0, error })
      endpoint = next
    }
  }
}

/** It is starting and has done nothing: treated as if it were not listening yet. */
function isStarting({ status, contentType, text }: HttpAnswer): boolean {
  return status === 503 && /\bjson\b/.test(contentType) && text.includes('"SERVER_STARTING"')
}

function post({ transport, token, endpoints }: Sender, { url }: Endpoint, operation: Operation): Promise<HttpAnswer> {
  const request = {
    url: new URL('graphql', url),
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json, application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query: operation.text, variables: operation.variables }),
    signal: operation.signal,
  }
  return postFollowing(transport, request, endpoints.knows)
}

function mayRepeat(operation: Operation, error: unknown): boolean {
  return operation.repeatable || (error instanceof ConnectionError && !error.mayHaveBeenSent)
}

interface Body {
  data?: unknown
  errors?: GraphQLFault[]
}

/** @throws ConnectionLostError if the response is truncated */
function readAnswer(answer: HttpAnswer): { data: unknown } | { error: RepriseClientError } {
  const body = parseBody(answer)
  if (body?.errors?.length) return { error: errorOfFaults(body.errors, body.data) }
  if (body && 'data' in body && answer.status < 300) return { data: body.data }
  const { status, contentType, text } = answer
  const retryAfterSeconds = parseRetryAfter(answer.retryAfter, Date.now())
  const said = contentType.startsWith('text/plain') ? `: ${text.trim().slice(0, 200)}` : ''
  const requestId = answer.requestId ?? undefined
  return {
    error: new HttpStatusError(status, `The server answered with ${status}${said}`, { retryAfterSeconds, requestId }),
  }
}

function parseBody({ status, contentType, text }: HttpAnswer): Body | null {
  if (!/\bjson\b/.test(contentType)) return null
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' ? body : null
  } catch (error) {
    if (status >= 300) return null
    throw new ConnectionLostError('BODY_CUT_OFF', 'The answer is no whole JSON', error)
  }
}

/** Whether the server said that it has not begun with the operation. */
function wasNotBegun(error: RepriseClientError): boolean {
  return error.code === 'TOO_MANY_REQUESTS'
}

/** The status of a fault of the server or its proxy; null for a response to the operation itself. */
function statusOfFault({ status }: HttpAnswer, error: RepriseClientError): number | null {
  // Every server would fail in the same way at once: the network layer waits longer.
  if (error instanceof UnavailableError) return null
  if (wasNotBegun(error)) return status
  if (error instanceof InternalError) return Math.max(status, 500)
  return error instanceof HttpStatusError ? status : null
}

import {
  ConnectError,
  ConnectionError,
  HttpStatusError,
  InternalError,
  type RepriseClientError,
  UnavailableError,
} from '../errors.ts'
import type { OnProgress, RetryConfig } from '../settings.ts'
import { judgeAnswer, nextAttemptDelay, parseRetryAfter, pause } from './retry-schedule.ts'
import type { Credentials, HttpAnswer, HttpRequest, Transport } from './transport.ts'
import type { Endpoint, Endpoints } from './endpoints.ts'

export interface Operation extends Pick<HttpRequest, 'method' | 'body' | 'sink'> {
  /** A function is called for each try. */
  headers: HttpRequest['headers'] | (() => HttpRequest['headers'])
  /** Name of the operation, for messages. */
  name: string
  /** Path below the server's address. */
  path: string
  read(answer: HttpAnswer): Outcome
  /** Whether the server may receive it twice. If not, it is repeated only if it cannot have arrived. */
  repeatable: boolean
  signal?: AbortSignal
  onProgress?: OnProgress
}

export type Outcome = { data: unknown } | { error: RepriseClientError }

export interface Sender {
  transport: Transport
  endpoints: Endpoints
  retry: RetryConfig
  credentials: Credentials
}

/**
 * Sends an operation through two layers of retries. The inner HTTP layer repeats the request after certain responses,
 * and tries the next server when one does not respond. The outer network layer repeats the whole operation if no server
 * gave a complete response. It does not repeat operations that the HTTP layer has stopped repeating.
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

/** Sends an operation through the HTTP layer. */
async function sendUntilAnswered(sender: Sender, operation: Operation): Promise<unknown> {
  const { http } = sender.retry
  for (let failed = 1; ; failed++) {
    const { endpoint, answer } = await sendSomewhere(sender, operation)
    const outcome = operation.read(answer)
    if ('data' in outcome) return outcome.data
    const { error } = outcome
    const fault = statusOfFault(answer, error)
    const retryAfterSeconds = parseRetryAfter(answer.retryAfter, Date.now())
    if (fault !== null && fault >= 500) sender.endpoints.failed(endpoint, retryAfterSeconds)
    if (http === null || fault === null || !(operation.repeatable || wasNotBegun(error))) throw error
    const verdict = judgeAnswer(http, { status: fault, retryAfterSeconds }, failed)
    if (verdict.action !== 'retry') throw error
    // Another server can be tried without a pause.
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
      const answer = await sendTo(sender, endpoint, operation)
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

/** Whether the server is starting. Such a server has done nothing, and is treated as if it were not listening yet. */
function isStarting({ status, contentType, text }: HttpAnswer): boolean {
  return status === 503 && /\bjson\b/.test(contentType) && text.includes('"SERVER_STARTING"')
}

function sendTo(
  { transport, credentials, endpoints }: Sender,
  { url }: Endpoint,
  operation: Operation,
): Promise<HttpAnswer> {
  const { path, method, headers, body, sink, signal } = operation
  const request = {
    url: new URL(path, url),
    method,
    headers: { ...(typeof headers === 'function' ? headers() : headers), ...credentials.headers() },
    body,
    sink,
    signal,
  }
  return sendFollowing(transport, request, endpoints.knows)
}

function mayRepeat(operation: Operation, error: unknown): boolean {
  return operation.repeatable || (error instanceof ConnectionError && !error.mayHaveBeenSent)
}

/** Whether the server reported that it has not begun with the operation. */
function wasNotBegun(error: RepriseClientError): boolean {
  return error.code === 'TOO_MANY_REQUESTS'
}

/** Returns the status of a fault of the server or its proxy; null for a response to the operation itself. */
function statusOfFault({ status }: HttpAnswer, error: RepriseClientError): number | null {
  // Every server would fail in the same way at once: the network layer waits longer.
  if (error instanceof UnavailableError) return null
  if (wasNotBegun(error)) return status
  if (error instanceof InternalError) return Math.max(status, 500)
  return error instanceof HttpStatusError ? status : null
}

/** Maximum number of redirects: a proxy in front of a server needs one or two. */
const REDIRECTS_MAX = 5

/** Redirects that keep method and body. Other redirects would change the request. */
const FOLLOWED: readonly number[] = [307, 308]
const REDIRECTS: readonly number[] = [301, 302, 303, ...FOLLOWED]

/**
 * Sends a request and follows redirects to addresses that `isKnown` accepts for the token. Any other redirect is
 * reported with its address: the request and its credentials are sent only to configured servers.
 * @throws HttpStatusError; ConnectionError; the signal's reason
 */
async function sendFollowing(
  transport: Transport,
  request: HttpRequest,
  isKnown: (url: URL) => boolean,
): Promise<HttpAnswer> {
  let { url } = request
  for (let followed = 0; ; followed++) {
    const answer = await transport.send({ ...request, url })
    if (answer.redirectHidden) throw hidden(url)
    if (!REDIRECTS.includes(answer.status)) return answer
    const target = targetOf(answer, url)
    if (target === null) return answer
    const why = refusal(answer.status, target, followed, isKnown)
    if (why !== null) throw redirected(answer, url, target, why)
    url = target
  }
}

function targetOf({ location }: HttpAnswer, from: URL): URL | null {
  if (location === null || !URL.canParse(location, from)) return null
  const target = new URL(location, from)
  // Credentials in an address would replace the token.
  target.username = ''
  target.password = ''
  return target
}

function refusal(status: number, target: URL, followed: number, isKnown: (url: URL) => boolean): string | null {
  if (!FOLLOWED.includes(status)) return 'which is not followed; give the client this address'
  if (!isKnown(target)) return 'which is not one of the configured servers; give the client this address'
  if (followed >= REDIRECTS_MAX) return `after ${REDIRECTS_MAX} other redirects`
  return null
}

function redirected({ status, requestId }: HttpAnswer, from: URL, target: URL, why: string): HttpStatusError {
  const to = `${target.origin}${target.pathname}`
  const message = `${from.origin} responded with ${status} and redirects to ${to}, ${why}`
  return new HttpStatusError(status, message, { requestId: requestId ?? undefined })
}

function hidden({ origin }: URL): HttpStatusError {
  return new HttpStatusError(
    0,
    `${origin} redirects, and browsers do not reveal the target: give the client the address of the target`,
  )
}

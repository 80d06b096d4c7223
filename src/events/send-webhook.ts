import { once } from 'node:events'
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { WEBHOOK_EXCERPT_BYTES_MAX, WEBHOOK_RESPONSE_BYTES_MAX } from '../domain/limits.ts'
import { toStorableText } from '../domain/storable-text.ts'
import type { MayConnect } from '../machine/address-guard.ts'
import type { ResolveHost } from '../machine/resolve-host.ts'

export interface OutgoingWebhook {
  url: string
  headers: Record<string, string>
  body: string
}

/** The end of an attempt. `cut` means that it was aborted because the process stops, and will be repeated. */
export type SendOutcome = 'answered' | 'refused' | 'timeout' | 'failed' | 'cut'

export interface SendResult {
  outcome: SendOutcome
  durationMs: number
  statusCode: number | null
  /** The error in words; null if there was an answer. */
  error: string | null
  /** The beginning of the response body. */
  response: string | null
  retryAfter: string | undefined
}

/** Never rejects. */
export type SendWebhook = (webhook: OutgoingWebhook, signal: AbortSignal) => Promise<SendResult>

const ERROR_LENGTH_MAX = 300
const NO_ANSWER = { statusCode: null, response: null, retryAfter: undefined }

class Refused extends Error {}
class TimedOut extends Error {}

/**
 * Sends one POST over a new connection, without redirects, proxies or keep-alive. The name is looked up once, and the
 * connection uses only the addresses that were checked, which rules out DNS rebinding. Errors do not show addresses,
 * since they may belong to our own network.
 */
export function createWebhookSender(options: {
  mayConnect: MayConnect
  resolveHost: ResolveHost
  connectTimeoutMs: number
  attemptTimeoutMs: number
}): SendWebhook {
  const { mayConnect, resolveHost, connectTimeoutMs, attemptTimeoutMs } = options

  async function addressesOf(host: string, signal: AbortSignal): Promise<string[]> {
    const addresses = isIP(host) ? [host] : await orAborted(resolveHost(host), signal)
    const allowed = addresses.filter(mayConnect)
    if (allowed.length === 0) throw new Refused('the address is not allowed: it is private or otherwise special')
    return allowed
  }

  return async ({ url: text, headers, body }, signal) => {
    const began = performance.now()
    const timeouts = new AbortController()
    const after = (ms: number, what: string) =>
      setTimeout(() => timeouts.abort(new TimedOut(`${what} within ${ms / 1000} s`)), ms)
    const overall = after(attemptTimeoutMs, 'no answer')
    const connecting = after(connectTimeoutMs, 'no connection')
    const ending = AbortSignal.any([signal, timeouts.signal])
    let outgoing: ClientRequest | undefined
    try {
      const url = new URL(text)
      const host = url.hostname.replace(/^\[|\]$/g, '')
      const addresses = await addressesOf(host, ending)
      const secure = url.protocol === 'https:'
      outgoing = (secure ? requestHttps : requestHttp)({
        hostname: host,
        port: url.port,
        path: url.pathname + url.search,
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        lookup: answerWith(addresses),
        agent: false,
        signal: ending,
      })
      // Errors after the answer or after the abort are ignored.
      outgoing.on('error', () => {})
      outgoing.on('socket', (socket) =>
        socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connecting)),
      )
      outgoing.end(body)
      const incoming = await answerOf(outgoing, ending)
      const statusCode = incoming.statusCode!
      const response = await readExcerpt(incoming)
      const retryAfter = incoming.headers['retry-after']
      return { outcome: 'answered', durationMs: since(began), statusCode, error: null, response, retryAfter }
    } catch (error) {
      const cause: unknown = ending.aborted ? ending.reason : error
      const outcome = signal.aborted ? 'cut' : outcomeOf(cause)
      return { outcome, durationMs: since(began), error: describe(cause), ...NO_ANSWER }
    } finally {
      clearTimeout(overall)
      clearTimeout(connecting)
      outgoing?.destroy()
    }
  }
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = once(signal, 'abort').then(() => {
    throw signal.reason as Error
  })
  return Promise.race([work, aborted])
}

/** After a protocol upgrade the request closes with neither a response nor an error. */
async function answerOf(outgoing: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const closed = once(outgoing, 'close', { signal }).then(() => {
    throw new Error('the connection was closed without an answer')
  })
  const answered = once(outgoing, 'response', { signal }) as Promise<[IncomingMessage]>
  const [incoming] = await Promise.race([answered, closed])
  return incoming
}

/** A `lookup` function that returns the addresses already resolved. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

/** The status has decided the outcome; a body that is truncated, endless or missing does not change it. */
async function readExcerpt(incoming: IncomingMessage): Promise<string> {
  const kept: Buffer[] = []
  let keptBytes = 0
  let readBytes = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      if (keptBytes < WEBHOOK_EXCERPT_BYTES_MAX) {
        const part = chunk.subarray(0, WEBHOOK_EXCERPT_BYTES_MAX - keptBytes)
        kept.push(part)
        keptBytes += part.length
      }
      readBytes += chunk.length
      if (readBytes >= WEBHOOK_RESPONSE_BYTES_MAX) break
    }
  } catch {
    // Keeps what was received.
  }
  return toStorableText(Buffer.concat(kept).toString())
}

function outcomeOf(cause: unknown): SendOutcome {
  if (cause instanceof Refused) return 'refused'
  return cause instanceof TimedOut ? 'timeout' : 'failed'
}

function describe(cause: unknown): string {
  const { message, code } = cause as NodeJS.ErrnoException & { errors?: unknown }
  // If several addresses all fail, the error is an AggregateError without a message.
  const text = message || code || String(cause)
  return toStorableText(text.slice(0, ERROR_LENGTH_MAX))
}

function since(began: number): number {
  return Math.round(performance.now() - began)
}

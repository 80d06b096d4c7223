import { once } from 'node:events'
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { WEBHOOK_EXCERPT_BYTES_MAX, WEBHOOK_RESPONSE_BYTES_MAX } from '../../domain/limits.ts'
import { toStorableText } from '../../domain/storable-text.ts'
import type { MayConnect } from './address-guard.ts'
import type { ResolveHost } from './resolve-host.ts'

export interface OutgoingWebhook {
  url: string
  headers: Record<string, string>
  body: string
}

/** How an attempt ended. `cut` is no end: the process stops, and somebody else makes the attempt again. */
export type SendOutcome = 'answered' | 'refused' | 'timeout' | 'failed' | 'cut'

export interface SendResult {
  outcome: SendOutcome
  durationMs: number
  statusCode: number | null
  /** For people; null where there was an answer. */
  error: string | null
  /** The beginning of the answer's body. */
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
 * One POST over a connection of its own: no redirect is followed, no proxy asked, nothing kept. The name is looked up
 * once, and the connection goes to the addresses that were checked: what the name says a moment later is of no
 * consequence. Neither the checked addresses nor those refused show in the error: they may be of our own network.
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
      // What it still has to say once it has answered, or is given up, is said to nobody.
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

/** A connection that changes to another protocol closes without either an answer or an error. */
async function answerOf(outgoing: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const closed = once(outgoing, 'close', { signal }).then(() => {
    throw new Error('the connection was closed without an answer')
  })
  const answered = once(outgoing, 'response', { signal }) as Promise<[IncomingMessage]>
  const [incoming] = await Promise.race([answered, closed])
  return incoming
}

/** A `lookup` that looks nothing up. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

/** The status has decided already: a body that breaks off, is endless or never comes changes nothing. */
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
    // What came before is what there is.
  }
  return toStorableText(Buffer.concat(kept).toString())
}

function outcomeOf(cause: unknown): SendOutcome {
  if (cause instanceof Refused) return 'refused'
  return cause instanceof TimedOut ? 'timeout' : 'failed'
}

function describe(cause: unknown): string {
  const { message, code } = cause as NodeJS.ErrnoException & { errors?: unknown }
  // Several addresses that all fail are an AggregateError without a message.
  const text = message || code || String(cause)
  return toStorableText(text.slice(0, ERROR_LENGTH_MAX))
}

function since(began: number): number {
  return Math.round(performance.now() - began)
}

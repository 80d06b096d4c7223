import { AGENT_REGISTER_PATH, AGENT_SYNC_PATH, type AgentErrorAnswer } from '../domain/agent/http-protocol.ts'
import type { Gateway, RegisterAnswer, SyncAnswer } from '../domain/agent/protocol.ts'
import { ERRORS, RepriseError, type ErrorCode } from '../domain/errors.ts'
import type { Logger } from '../observability/log.ts'

interface HttpGatewayOptions {
  /** Of servers on one database, any of which will do. */
  urls: readonly string[]
  token: string
  log: Logger
}

export interface HttpGateway extends Gateway {
  /** The server that is asked next. */
  readonly url: string
}

const SERVER_FAULTS: readonly ErrorCode[] = ['SERVER_STARTING', 'SERVER_STOPPING', 'REQUEST_TIMEOUT']

/** Of what is no answer of ours, that much is told. */
const EXCERPT_LENGTH_MAX = 200

/**
 * The gateway of servers elsewhere. Stays with one server for as long as it answers, and goes on to the next when it
 * does not: the call itself fails, and whoever made it says everything again.
 */
export function createHttpGateway({ urls, token, log }: HttpGatewayOptions): HttpGateway {
  let current = 0

  async function call<T>(path: string, body: object, signal: AbortSignal): Promise<T> {
    const asked = current
    const url = urls[asked]!
    try {
      return await post<T>(new URL(url.replace(/\/*$/, path)), { token, body, signal })
    } catch (error) {
      if (current === asked && isServerAtFault(error, signal)) {
        current = (asked + 1) % urls.length
        if (urls.length > 1) log.warn({ from: url, to: urls[current] }, 'going on to the next server')
      }
      throw error
    }
  }

  return {
    register: (request, signal) => call<RegisterAnswer>(AGENT_REGISTER_PATH, request, signal),
    sync: (request, signal) => call<SyncAnswer>(AGENT_SYNC_PATH, request, signal),
    get url() {
      return urls[current]!
    },
  }
}

/** Not where the caller gave up for reasons of its own, nor where the server said what is wrong with the call. */
function isServerAtFault(error: unknown, signal: AbortSignal): boolean {
  if (error instanceof RepriseError) return SERVER_FAULTS.includes(error.code)
  return !signal.aborted || (signal.reason as { name?: unknown } | undefined)?.name === 'TimeoutError'
}

async function post<T>(url: URL, options: { token: string; body: object; signal: AbortSignal }): Promise<T> {
  const { token, body, signal } = options
  let response: Response
  let text: string
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      // A redirect would carry the token to somebody else.
      redirect: 'error',
      signal,
    })
    text = await response.text()
  } catch (error) {
    if (signal.aborted) throw error
    throw new Error(`${url.origin}: ${reasonOf(error)}`, { cause: error })
  }
  const answer = parse(text)
  if (response.ok && answer !== undefined) return answer as T
  if (isErrorAnswer(answer)) throw errorOf(answer, url)
  throw new Error(`${url.origin} answers ${response.status} and is no Reprise server: ${excerpt(text)}`)
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function isErrorAnswer(answer: object | undefined): answer is AgentErrorAnswer {
  return answer !== undefined && 'code' in answer && 'message' in answer && typeof answer.code === 'string'
}

/** A newer server may have codes that this agent has no row for. */
function errorOf({ code, message, issues, requestId }: AgentErrorAnswer, { origin }: URL): Error {
  if (Object.hasOwn(ERRORS, code)) return new RepriseError(code as ErrorCode, message, issues)
  return new Error(`${origin}: ${code}: ${message} (request ${requestId})`)
}

/** What `fetch` says is that it failed; why stands in the cause. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  if (cause instanceof AggregateError) return cause.errors.map((each) => (each as Error).message).join('; ')
  return cause instanceof Error ? cause.message : message
}

function excerpt(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, EXCERPT_LENGTH_MAX)
}

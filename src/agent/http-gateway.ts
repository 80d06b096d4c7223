import { type IncomingMessage, request as requestByHttp } from 'node:http'
import { request as requestByHttps } from 'node:https'
import { text as textOf } from 'node:stream/consumers'
import {
  AGENT_BLOB_HAVE_PATH,
  AGENT_BLOB_HEADER,
  AGENT_BLOB_PART_PATH,
  AGENT_BLOB_PATH,
  AGENT_CHECKPOINT_FETCH_PATH,
  AGENT_CHECKPOINT_HEADER,
  AGENT_CHECKPOINT_OFFER_PATH,
  AGENT_CHECKPOINT_SEND_PATH,
  AGENT_CODE_PATH,
  AGENT_INPUTS_PATH,
  AGENT_OUTPUTS_PATH,
  AGENT_REGISTER_PATH,
  AGENT_SYNC_PATH,
  type AgentErrorAnswer,
  type BlobAnswer,
  type BlobState,
  type CheckpointAnswer,
  type CheckpointWish,
  type CodeAnswer,
  type DialChannel,
  type Gateway,
  type InputsAnswer,
  type OutputsAnswer,
  type RegisterAnswer,
  type SyncAnswer,
} from '../domain/agent/protocol.ts'
import { type ErrorCode, ERRORS, RepriseError } from '../domain/errors.ts'
import type { Logger } from '../observability/log.ts'
import { dialAround } from './dial-channel.ts'

interface HttpGatewayOptions {
  /** URLs of servers that share a database; any of them will do. */
  urls: readonly string[]
  token: string
  log: Logger
}

export interface HttpGateway extends Gateway {
  /** The server that receives the next call. */
  readonly url: string
  readonly dial: DialChannel
}

const SERVER_FAULTS: readonly ErrorCode[] = [
  'SERVER_STARTING',
  'SERVER_STOPPING',
  'SERVER_DISK_FULL',
  'STORAGE_UNAVAILABLE',
  'TOO_MANY_REQUESTS',
  'REQUEST_TIMEOUT',
]

/** Maximum length of the part of an unexpected response that a message quotes. */
const EXCERPT_LENGTH_MAX = 200

/**
 * A gateway to remote servers. Stays with one server as long as it answers, and switches to the next one when it does
 * not answer or reports that it cannot serve at the moment. The failed call is not repeated here: the caller sends its
 * complete state again.
 */
export function createHttpGateway({ urls, token, log }: HttpGatewayOptions): HttpGateway {
  let current = 0

  async function call<T>(
    path: string,
    body: object,
    signal: AbortSignal,
    read: (response: Response, url: URL) => Promise<T> = readAnswer,
    sent?: Sent,
  ): Promise<T> {
    const asked = current
    const url = urls[asked]!
    try {
      return await post(new URL(url.replace(/\/*$/, path)), { token, body, signal, read, sent })
    } catch (error) {
      if (current === asked && isServerAtFault(error, signal)) {
        current = (asked + 1) % urls.length
        if (urls.length > 1) log.warn({ from: url, to: urls[current] }, 'switching to the next server')
      }
      throw error
    }
  }

  return {
    register: (request, signal) => call<RegisterAnswer>(AGENT_REGISTER_PATH, request, signal),
    sync: (request, signal) => call<SyncAnswer>(AGENT_SYNC_PATH, request, signal),
    fetchCode: (request, signal) => call<CodeAnswer>(AGENT_CODE_PATH, request, signal, readArchive),
    listInputs: (request, signal) => call<InputsAnswer>(AGENT_INPUTS_PATH, request, signal),
    reportOutputs: (request, signal) => call<OutputsAnswer>(AGENT_OUTPUTS_PATH, request, signal),
    offerCheckpoint: (request, signal) => call<CheckpointWish>(AGENT_CHECKPOINT_OFFER_PATH, request, signal),
    sendCheckpoint: (request, chunks, signal) =>
      call<{ recorded: boolean }>(AGENT_CHECKPOINT_SEND_PATH, request, signal, readAnswer, {
        header: AGENT_CHECKPOINT_HEADER,
        chunks,
      }),
    fetchCheckpoint: (request, signal) =>
      call<CheckpointAnswer>(AGENT_CHECKPOINT_FETCH_PATH, request, signal, readCheckpoint),
    haveBlobs: (request, signal) => call<{ blobs: BlobState[] }>(AGENT_BLOB_HAVE_PATH, request, signal),
    sendParts: (request, body, signal, onSent) =>
      call<{ blobs: BlobState[] }>(AGENT_BLOB_PART_PATH, request, signal, readAnswer, {
        header: AGENT_BLOB_HEADER,
        bytes: body.length,
        chunks: body,
        onSent,
      }),
    fetchBlob: (request, signal) => call<BlobAnswer>(AGENT_BLOB_PATH, request, signal, readBlob),
    dial: (order, signal) => dialAround(order, [...urls.slice(current), ...urls.slice(0, current)], signal),
    get url() {
      return urls[current]!
    },
  }
}

/**
 * Returns whether another server should be tried. It should not if the caller aborted the call before its timeout, or
 * if the server returned an error that all servers would return.
 */
function isServerAtFault(error: unknown, signal: AbortSignal): boolean {
  if (error instanceof RepriseError) return SERVER_FAULTS.includes(error.code)
  return !signal.aborted || (signal.reason as { name?: unknown } | undefined)?.name === 'TimeoutError'
}

interface PostOptions<T> {
  token: string
  body: object
  signal: AbortSignal
  read: (response: Response, url: URL) => Promise<T>
  sent: Sent | undefined
}

/** A body of bytes. The JSON that is otherwise the body is then sent in a header. */
interface Sent {
  header: string
  /** The length; if missing, it is not known in advance. */
  bytes?: number
  chunks: AsyncIterable<Uint8Array> | Uint8Array
  onSent?: (() => void) | undefined
}

async function post<T>(url: URL, { token, body, signal, read, sent }: PostOptions<T>): Promise<T> {
  const authorization = `Bearer ${token}`
  try {
    const response =
      sent === undefined
        ? await fetch(url, {
            method: 'POST',
            headers: { authorization, 'content-type': 'application/json' },
            body: JSON.stringify(body),
            // A redirect would send the token to another host.
            redirect: 'error',
            signal,
          })
        : await upload(url, {
            headers: {
              authorization,
              'content-type': 'application/octet-stream',
              ...(sent.bytes !== undefined && { 'content-length': String(sent.bytes) }),
              [sent.header]: JSON.stringify(body),
            },
            chunks: sent.chunks instanceof Uint8Array ? slicesOf(sent.chunks) : sent.chunks,
            onSent: sent.onSent,
            signal,
          })
    return await read(response as Response, url)
  } catch (error) {
    if (error instanceof Answered) throw error.cause
    if (signal.aborted) throw signal.reason
    throw new Error(`${url.origin}: ${reasonOf(error)}`, { cause: error })
  }
}

/** Bytes written at once: an upload that is refused stops after the next ones. */
const WRITE_BYTES = 256 * 1024

async function* slicesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += WRITE_BYTES) yield bytes.subarray(at, at + WRITE_BYTES)
}

interface Upload {
  headers: Record<string, string>
  chunks: AsyncIterable<Uint8Array>
  onSent: (() => void) | undefined
  signal: AbortSignal
}

type Received = Pick<Response, 'ok' | 'status' | 'text'>

/**
 * Sends the chunks as the body. A server, or a proxy in front of it, may refuse before it has received all of them:
 * then the upload stops, and that answer counts. `fetch` is not used because its streams can throw uncatchable errors
 * when an upload is refused. Redirects are not followed: they are returned like other answers.
 */
async function upload(url: URL, { headers, chunks, onSent, signal }: Upload): Promise<Received> {
  const request = url.protocol === 'https:' ? requestByHttps : requestByHttp
  const outgoing = request(url, { method: 'POST', headers, signal })
  let isOver = false
  const over = Promise.withResolvers<void>()
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    // This listener stays, so that an error after the answer is ignored.
    outgoing.once('response', resolve).on('error', reject)
    outgoing.once('close', () => reject(new Error('the connection was closed before an answer came')))
  })
  const end = () => {
    isOver = true
    over.resolve()
  }
  answered.then(end, end)
  const send = async () => {
    for await (const chunk of chunks) {
      if (isOver) return
      if (outgoing.write(chunk)) continue
      const drained = Promise.withResolvers<void>()
      outgoing.once('drain', drained.resolve)
      await Promise.race([drained.promise, over.promise])
      outgoing.off('drain', drained.resolve)
    }
    if (!isOver) outgoing.end(onSent)
  }
  // If reading the chunks fails, the request fails with the same error.
  send().catch((error: Error) => outgoing.destroy(error))
  try {
    const response = await answered
    const status = response.statusCode!
    // The status counts even if the connection is closed before the whole text has come.
    const body = await textOf(response).catch(() => '')
    return { ok: status >= 200 && status < 300, status, text: () => Promise.resolve(body) }
  } finally {
    end()
    if (!outgoing.writableFinished) outgoing.destroy()
  }
}

/** The server has answered with an error, which is the cause. */
class Answered extends Error {}

/** The answer came from a proxy or another program that is no Reprise server. */
export class ForeignAnswer extends Error {
  readonly status: number

  constructor({ origin }: URL, status: number, text: string) {
    super(`${origin} answers ${status} and is no Reprise server: ${excerpt(text)}`)
    this.name = 'ForeignAnswer'
    this.status = status
  }

  /** Whether the same request would be refused again. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && !PASSING_STATUSES.includes(this.status)
  }
}

/** Statuses of temporary refusals: request timeout, too early, too many requests. */
const PASSING_STATUSES = [408, 425, 429]

async function readAnswer<T>(response: Received, url: URL): Promise<T> {
  const text = await response.text()
  const answer = parse(text)
  if (response.ok && answer !== undefined) return answer as T
  const cause = isErrorAnswer(answer) ? errorOf(answer, url) : new ForeignAnswer(url, response.status, text)
  throw new Answered(cause.message, { cause })
}

async function readArchive(response: Response, url: URL): Promise<CodeAnswer> {
  const bytes = Number(response.headers.get('content-length') ?? Number.NaN)
  if (!response.ok || response.body === null || !Number.isSafeInteger(bytes)) return readAnswer<never>(response, url)
  return { bytes, chunks: response.body }
}

async function readCheckpoint(response: Response, url: URL): Promise<CheckpointAnswer> {
  const copy = parse(response.headers.get(AGENT_CHECKPOINT_HEADER) ?? '')
  const archive = await readArchive(response, url)
  return { ...(copy as Omit<CheckpointAnswer, keyof CodeAnswer>), ...archive }
}

async function readBlob(response: Response, url: URL): Promise<BlobAnswer> {
  const blob = parse(response.headers.get(AGENT_BLOB_HEADER) ?? '')
  const rest = await readArchive(response, url)
  return { ...(blob as Omit<BlobAnswer, keyof CodeAnswer>), ...rest }
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

/** A newer server may send codes that this agent does not know. */
function errorOf({ code, message, issues, requestId }: AgentErrorAnswer, { origin }: URL): Error {
  if (Object.hasOwn(ERRORS, code)) return new RepriseError(code as ErrorCode, message, issues)
  return new Error(`${origin}: ${code}: ${message} (request ${requestId})`)
}

/** The message of an error of `fetch` has no reason: its cause has. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  if (cause instanceof AggregateError) return cause.errors.map((each) => (each as Error).message).join('; ')
  return cause instanceof Error ? cause.message : message
}

function excerpt(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, EXCERPT_LENGTH_MAX)
}

import { once } from 'node:events'
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { Pool } from 'undici'
import { z } from 'zod'
import { StringDecoder } from 'node:string_decoder'
import type { LogStreamName } from '../../../../domain/agent/protocol.ts'

/** The engine's answer in place of success. Its message is for people, and contains no credentials. */
export class EngineError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The engine gave no answer: it is down, or its socket is out of reach. */
export class EngineSilentError extends Error {
  /** The engine may run, but has not answered in time. */
  readonly timedOut: boolean

  constructor(message: string, timedOut: boolean, options?: ErrorOptions) {
    super(message, options)
    this.timedOut = timedOut
  }
}

export interface EngineClient {
  /** @throws EngineError, EngineSilentError */
  request(method: 'GET' | 'HEAD' | 'POST' | 'DELETE', path: string, options?: RequestOptions): Promise<EngineAnswer>
  /** Returns an answer that lasts until the engine ends it, or `signal` aborts. @throws as above */
  stream(method: 'GET' | 'POST', path: string, options: StreamOptions): Promise<Readable>
  /**
   * Returns the connection itself, in both directions. One direction may end while the other continues. @throws as
   * above
   */
  hijack(path: string, body: unknown): Promise<Socket>
  close(): Promise<void>
}

export interface RequestOptions {
  query?: Query
  body?: unknown
  /** Statuses besides 2xx that are not errors. */
  allow?: readonly number[]
  timeoutMs?: number
}

export interface StreamOptions {
  query?: Query
  headers?: Record<string, string>
  signal: AbortSignal
}

export interface EngineAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

const ANSWER_WITHIN_MS = 60_000
const CONNECT_WITHIN_MS = 5_000
const MESSAGE_LENGTH_MAX = 500
const ERROR_BYTES_MAX = 64 * 1024

/**
 * Speaks HTTP over the engine's socket. Each stream has its own connection as long as it lasts, so their number is not
 * limited here.
 */
export function createEngineClient(socketPath: string): EngineClient {
  const pool = new Pool('http://engine', {
    connect: { socketPath, timeout: CONNECT_WITHIN_MS },
    connections: null,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  async function request(
    method: 'GET' | 'HEAD' | 'POST' | 'DELETE',
    path: string,
    { query, body, allow = [], timeoutMs = ANSWER_WITHIN_MS }: RequestOptions = {},
  ): Promise<EngineAnswer> {
    const {
      statusCode: status,
      headers,
      text,
    } = await answered(async () => {
      const answer = await pool.request({
        method,
        path: withQuery(path, query),
        signal: AbortSignal.timeout(timeoutMs),
        ...(body !== undefined && {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      })
      const { statusCode, headers: given } = answer
      return { statusCode, headers: given, text: await answer.body.text() }
    })
    if (status >= 300 && !allow.includes(status))
      throw new EngineError(status, errorText(text) || `the engine answered with status ${status}`)
    return { status, headers, text }
  }

  return {
    request,
    async stream(method, path, { query, headers, signal }) {
      const answer = await answered(() => pool.request({ method, path: withQuery(path, query), headers, signal }))
      if (answer.statusCode < 300) return answer.body
      throw new EngineError(answer.statusCode, errorText(await readStart(answer.body)))
    },
    hijack: (path, body) => answered(() => hijack(socketPath, path, body)),
    close: () => pool.destroy(),
  }
}

async function hijack(socketPath: string, path: string, body: unknown): Promise<Socket> {
  const text = JSON.stringify(body)
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    connection: 'Upgrade',
    upgrade: 'tcp',
  }
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  const sent = httpRequest({ socketPath, path, method: 'POST', headers, agent: false })
  const upgraded = once(sent, 'upgrade', { signal }) as Promise<[IncomingMessage, Socket, Buffer]>
  const refused = once(sent, 'response', { signal }) as Promise<[IncomingMessage]>
  refused.catch(() => undefined)
  sent.end(text)
  try {
    const [answer, socket, head] = await Promise.race([upgraded, refused])
    if (socket === undefined || head === undefined) {
      throw new EngineError(answer.statusCode ?? 0, errorText(await readStart(answer)))
    }
    socket.on('error', () => undefined)
    socket.setTimeout(0)
    if (head.length > 0) socket.unshift(head)
    return socket
  } catch (error) {
    upgraded.catch(() => undefined)
    sent.destroy()
    throw error
  }
}

async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof EngineError) throw error
    const { name, code, message } = error as NodeJS.ErrnoException
    const timedOut = name === 'TimeoutError'
    const why = code === undefined || timedOut ? message : `${message} (${code})`
    throw new EngineSilentError(why, timedOut, { cause: error })
  }
}

function withQuery(path: string, query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

async function readStart(body: Readable): Promise<string> {
  let text = ''
  for await (const chunk of body) {
    text += String(chunk)
    if (text.length > ERROR_BYTES_MAX) break
  }
  return text
}

function errorText(text: string): string {
  try {
    const { message, cause } = JSON.parse(text) as { message?: unknown; cause?: unknown }
    return plain([message, cause].find((words) => typeof words === 'string') ?? text)
  } catch {
    return plain(text)
  }
}

/** Shortens a text to one line for people, without user names and passwords in URLs. */
export function plain(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.replaceAll(/\/\/[^/@\s]*@/g, '//').slice(0, MESSAGE_LENGTH_MAX)
}

/** Labels by which an agent finds its containers and networks again. */
export const AGENT_LABEL = 'reprise.agent'
export const KERNEL_LABEL = 'reprise.kernel'
export const SESSION_LABEL = 'reprise.session'
export const ASSIGNMENT_LABEL = 'reprise.assignment'

/** The request that creates a container, with the labels by which the agent finds it again. */
export interface CreateBody {
  Image: string
  Cmd: readonly string[]
  Entrypoint?: readonly string[]
  Env: string[]
  Labels: Record<string, string>
  HostConfig: { Init?: boolean; [name: string]: unknown }
  [name: string]: unknown
}

/** Limits that the engine can enforce for a container. */
export interface EngineLimits {
  memory: boolean
  cpu: boolean
  processes: boolean
}

export const ALL_LIMITS: EngineLimits = { memory: true, cpu: true, processes: true }

/** Podman's own answer. Its answer through Docker's API always reports all controllers. */
export const controllersSchema = z.object({ host: z.object({ cgroupControllers: z.array(z.string()).catch([]) }) })

/** Returns the limits for which controllers are delegated to the user; none with cgroups of version 1. */
export function delegatedLimits(controllers: readonly string[]): EngineLimits {
  const has = (controller: string) => controllers.includes(controller)
  return { memory: has('memory'), cpu: has('cpu'), processes: has('pids') }
}

/** Lists the missing limits for people; null if none is missing. */
export function missingLimits({ memory, cpu, processes }: EngineLimits): string | null {
  const missing = [...(memory ? [] : ['memory']), ...(cpu ? [] : ['CPU']), ...(processes ? [] : ['processes'])]
  return missing.length === 0 ? null : new Intl.ListFormat('en-GB').format(missing)
}

const LINE_LENGTH_MAX = 1024 * 1024

/** Yields lines that are not empty. @throws if a line is longer than any that the engine should send */
export async function* readLines(body: Readable): AsyncIterable<string> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.write(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_LENGTH_MAX) throw new Error('the engine sent a line without an end')
    for (const line of lines) if (line.trim() !== '') yield line
  }
  if (rest.trim() !== '') yield rest
}

const HEADER_BYTES = 8
/** The stream that a frame belongs to, by its first byte. */
const STREAM_OF: Record<number, LogStreamName> = { 0: 'STDOUT', 1: 'STDOUT', 2: 'STDERR' }

/**
 * Yields the content of frames. The transport may cut frames anywhere, and each piece is yielded at once, whole or not.
 */
export async function* readFrames(body: Readable): AsyncIterable<{ stream: LogStreamName; bytes: Uint8Array }> {
  const header = Buffer.alloc(HEADER_BYTES)
  let headed = 0
  let left = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length;) {
      if (left === 0) {
        const taken = chunk.copy(header, headed, at, at + HEADER_BYTES - headed)
        headed += taken
        at += taken
        if (headed < HEADER_BYTES) break
        headed = 0
        left = header.readUInt32BE(4)
        continue
      }
      const stream = STREAM_OF[header[0]!]
      if (stream === undefined) throw new Error(`the engine sent a frame of stream ${header[0]}`)
      const bytes = chunk.subarray(at, at + left)
      at += bytes.length
      left -= bytes.length
      yield { stream, bytes }
    }
  }
}

import type { IncomingMessage } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { type RawData, WebSocket } from 'ws'
import {
  type ApiError,
  ConnectError,
  ConnectionLostError,
  HttpStatusError,
  type Issue,
  typeOfCode,
  UnavailableError,
} from '../client/errors.ts'
import { deferred } from '../client/streams/closeable.ts'

/** The kernel of a session to connect to: `main1` if none is named. */
interface ChannelPlace {
  sessionId: string
  kernel?: string | undefined
}

export interface ExecOptions extends ChannelPlace {
  command: readonly string[]
  /** Whether the command runs in a terminal: its output is then one stream, on `stdout`. */
  tty?: boolean
  /** Type of the terminal (TERM). */
  term?: string | undefined
  columns?: number | undefined
  rows?: number | undefined
}

export interface ConnectOptions extends ChannelPlace {
  port: number
}

/** A command that runs in a kernel, or a connection to a port of one. */
export interface Channel {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /**
   * The exit status, 128 + signal if a signal ended it; null for a connection. Rejects with an ApiError or a
   * ConnectionLostError.
   */
  readonly ended: Promise<{ exitCode: number | null; message?: string }>
  resize(columns: number, rows: number): void
  signal(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGQUIT'): void
  /** Closes the channel: hangs up the command, or closes the connection. */
  close(): void
}

/** Limit of the server's protocol on bytes that the other side has not yet acknowledged. */
const WINDOW_BYTES = 256 * 1024
const CHUNK_BYTES_MAX = 32 * 1024
const STDIN = 0
/** Time without a message after which the connection counts as broken. The server pings every 12 s. */
const SILENT_MS = 40_000
const HANDSHAKE_WITHIN_MS = 10_000

interface Server {
  urls: readonly URL[]
  token: string | undefined
}

/** Runs a command in a session. @throws ApiError, ConnectError, ConnectionLostError */
export async function execInSession(server: Server, options: ExecOptions): Promise<Channel> {
  const { sessionId, kernel, command, tty = false, term, columns, rows } = options
  const channel = await openChannel(server, `exec`, { sessionId, kernel })
  await channel.begin({ type: 'open', command, tty, term, columns, rows })
  return channel
}

/** Connects to a port of a session. @throws ApiError, ConnectError, ConnectionLostError */
export async function connectToSession(server: Server, options: ConnectOptions): Promise<Channel> {
  const { sessionId, kernel, port } = options
  const channel = await openChannel(server, 'connect', { sessionId, kernel, port: String(port) })
  await channel.begin()
  return channel
}

/** Checks that a connection may be opened now, without opening one. @throws ApiError, ConnectError */
export async function checkConnect(server: Server, options: ConnectOptions): Promise<void> {
  const { sessionId, kernel, port } = options
  const channel = await openChannel(server, `connect`, { sessionId, kernel, port: String(port), check: 'true' })
  channel.close()
}

async function openChannel(
  { urls, token }: Server,
  kind: 'exec' | 'connect',
  { sessionId, ...query }: { sessionId: string } & Record<string, string | undefined>,
) {
  let fault: unknown
  for (const base of urls) {
    const url = new URL(`v2/sessions/${encodeURIComponent(sessionId)}/${kind}`, base)
    url.protocol = url.protocol.replace('http', 'ws')
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
    try {
      return channelOn(await connected(url, token))
    } catch (error) {
      // Another server may respond.
      if (!(error instanceof ConnectError || error instanceof UnavailableError)) throw error
      fault = error
    }
  }
  throw fault
}

function connected(url: URL, token: string | undefined): Promise<WebSocket> {
  const socket = new WebSocket(url, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    handshakeTimeout: HANDSHAKE_WITHIN_MS,
    perMessageDeflate: false,
  })
  const { promise, resolve, reject } = deferred<WebSocket>()
  socket.once('open', () => {
    // Messages wait until the channel listens.
    socket.pause()
    resolve(socket)
  })
  socket.on('error', (error) => reject(new ConnectError('CONNECT_FAILED', `${url.host}: ${error.message}`, error)))
  socket.once('unexpected-response', (_, response) => {
    refusalOf(response).then(reject, reject)
  })
  return promise
}

/** Body of a REST response that is not a success. */
interface ProblemBody {
  code: unknown
  detail: unknown
  issues: readonly Issue[]
  request_id: string
}

async function refusalOf(response: IncomingMessage): Promise<Error> {
  const status = response.statusCode ?? 0
  const body = await textOf(response)
  try {
    const { code, detail, issues, request_id: requestId } = JSON.parse(body) as Partial<ProblemBody>
    if (typeof code === 'string')
      return new (typeOfCode(code))(code, String(detail), {
        ...(issues && { issues }),
        ...(requestId !== undefined && { requestId }),
      })
  } catch {
    // The answer came from a proxy, or from a server without channels.
  }
  if (status === 503) return new UnavailableError('SERVER_STARTING', 'The server is starting or stopping.')
  return new HttpStatusError(status, `The server responds with ${status}; it may be too old for this.`)
}

/** Opens the channel on a socket. The promise of `begin` resolves when the agent has opened the channel. */
function channelOn(socket: WebSocket): Channel & { begin(first?: object): Promise<void> } {
  const opened = deferred<void>()
  const ended = deferred<{ exitCode: number | null; message?: string }>()
  const control = (what: object) => socket.send(JSON.stringify(what), () => {})
  const window = createWindow(socket)
  const taken = (bytes: number) => control({ type: 'taken', bytes })
  const outputs = [createOutput(taken), createOutput(taken)] as const
  const silence = setTimeout(() => socket.terminate(), SILENT_MS).unref()
  let isWhole = false

  function fail(error: Error): void {
    opened.reject(error)
    ended.reject(error)
  }

  function takeControl(text: string): void {
    const said = JSON.parse(text) as { type?: unknown; [key: string]: unknown }
    if (said.type === 'opened') opened.resolve()
    if (said.type === 'taken') window.taken(Number(said['bytes']))
    if (said.type === 'ended') {
      isWhole = true
      const { exitCode, message } = said as { exitCode?: number | null; message?: string }
      ended.resolve({ exitCode: exitCode ?? null, ...(message !== undefined && { message }) })
    }
    if (said.type === 'failed') fail(errorOf(String(said['code']), String(said['message'])))
  }

  socket.on('ping', () => silence.refresh())
  socket.on('message', (data: RawData, isBinary) => {
    silence.refresh()
    const bytes = data as Buffer
    if (!isBinary) return takeControl(String(bytes))
    outputs[(bytes[0] ?? 1) - 1]?.put(bytes.subarray(1))
  })
  socket.once('close', (code, reason) => {
    clearTimeout(silence)
    window.end()
    fail(closedBecause(code, String(reason)))
    for (const output of outputs) output.end(isWhole)
  })
  // An error before `begin` is called is not unhandled: `begin` then rejects with it.
  ended.promise.catch(() => {})
  opened.promise.catch(() => {})
  return {
    stdin: window.stdin,
    stdout: outputs[0].stream,
    stderr: outputs[1].stream,
    ended: ended.promise,
    resize: (columns, rows) => control({ type: 'resize', columns, rows }),
    signal: (signal) => control({ type: 'signal', signal }),
    close() {
      // The server's answer to the close must be read, so a paused socket is resumed.
      socket.resume()
      socket.close(1000)
    },
    begin(first) {
      if (first !== undefined) control(first)
      socket.resume()
      return opened.promise
    },
  }
}

/** Creates the input, which is sent no faster than the other side takes it. */
function createWindow(socket: WebSocket): { stdin: Writable; taken(bytes: number): void; end(): void } {
  let left = WINDOW_BYTES
  let more = deferred<void>()
  async function sendAll(chunk: Buffer): Promise<void> {
    for (let rest = chunk; rest.length > 0 && socket.readyState === socket.OPEN;) {
      if (left <= 0) {
        await more.promise
        continue
      }
      const part = rest.subarray(0, Math.min(CHUNK_BYTES_MAX, left))
      rest = rest.subarray(part.length)
      left -= part.length
      socket.send(Buffer.concat([Buffer.of(STDIN), part]), () => {})
    }
  }
  const stdin = new Writable({
    write(chunk, _, done) {
      void sendAll(chunk as Buffer).finally(() => done())
    },
    final(done) {
      if (socket.readyState === socket.OPEN) socket.send(Buffer.of(STDIN), () => {})
      done()
    },
  })
  const wake = () => {
    more.resolve()
    more = deferred<void>()
  }
  return {
    stdin,
    taken(bytes) {
      left += bytes
      wake()
    },
    end: wake,
  }
}

/** Creates output that acknowledges the bytes that were read. */
function createOutput(taken: (bytes: number) => void): {
  stream: Readable
  put(chunk: Buffer): void
  /**
   * Ends the output. If it is incomplete, the stream is destroyed with an error, so that no reader takes it for
   * complete.
   */
  end(isWhole: boolean): void
} {
  const waiting: Buffer[] = []
  let wanted = false
  let over = false
  const stream = new Readable({ read: () => pass(true) })
  function pass(more: boolean): void {
    wanted ||= more
    while (wanted) {
      const chunk = waiting.shift()
      if (chunk === undefined) return
      taken(chunk.length)
      wanted = stream.push(chunk)
    }
  }
  function end(): void {
    over = true
    // The remaining chunks are passed on at once, without waiting for the reader: the server sends no more, so the
    // amount is limited.
    for (const each of waiting.splice(0)) stream.push(each)
    stream.push(null)
  }
  return {
    stream,
    put(chunk) {
      if (over) return
      if (chunk.length === 0) return end()
      waiting.push(chunk)
      pass(false)
    },
    end(isWhole) {
      if (over) return
      if (isWhole) end()
      else stream.destroy()
    },
  }
}

function errorOf(code: string, message: string): ApiError {
  return new (typeOfCode(code))(code, message)
}

function closedBecause(code: number, reason: string): Error {
  if (code === 4401) return errorOf('UNAUTHENTICATED', reason)
  if (code === 1001) return new ConnectionLostError('CONNECTION_LOST', reason || 'The server is shutting down.')
  return new ConnectionLostError('CONNECTION_LOST', reason || 'The connection to the server was lost.')
}

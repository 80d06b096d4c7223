import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Duplex } from 'node:stream'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import { WebSocketServer } from 'ws'
import { z } from 'zod'
import {
  AGENT_BLOB_HAVE_PATH,
  AGENT_BLOB_HEADER,
  AGENT_BLOB_PART_PATH,
  AGENT_BLOB_PATH,
  AGENT_CHANNEL_PATH,
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
  BLOB_PURPOSES,
  type CodeRequest,
  type OutputsReport,
  type RegisterRequest,
  type SyncRequest,
} from '../domain/agent/protocol.ts'
import { GENERATION_MAX } from '../domain/agent/checkpoint.ts'
import { ERRORS, maskedFault, RepriseError } from '../domain/errors.ts'
import {
  AGENT_BODY_WITHIN_MS,
  OUTPUTS_REPORT_BYTES_MAX,
  BLOB_PART_BYTES,
  BLOB_PART_WITHIN_MS,
  BLOB_PARTS_AT_ONCE_MAX,
  BLOB_SLICES_MAX,
  BLOBS_ASKED_MAX,
  CHANNEL_MESSAGE_BYTES_MAX,
  REGISTER_BYTES_MAX,
  SYNC_BYTES_MAX,
} from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { AgentOwnership } from '../services/agent/register-agent.ts'
import { type Authenticate, identifyBearer, noteKnown } from '../services/access/authenticate.ts'
import type { ChannelHolders } from '../channel/channel-holders.ts'
import { webSocketPort } from '../channel/web-socket-port.ts'
import { databaseAway, isDatabaseOutage, outageOf } from '../services/database-outage.ts'
import { parseInput } from '../services/input/parse-input.ts'
import { createBodyRoom, parseJson, readBody, RequestGone } from '../services/input/read-body.ts'
import type { Viewer } from '../services/service-context.ts'
import type { ServerGateway } from './gateway.ts'
import { createPolls } from './polls.ts'

/** The fields that the gateway needs before the service validates the whole sync. */
const schema = z.looseObject({
  agentId: z.uuid(),
  instanceId: z.uuid(),
  sequence: z.int().min(1),
  waitMs: z.number(),
})

const kernelFields = {
  agentId: z.uuid(),
  kernelId: z.uuid(),
  assignment: z.int().min(0).max(2_147_483_647),
}
const codeSchema: z.ZodType<CodeRequest> = z.object(kernelFields)

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal')
const blobFields = { ...kernelFields, purpose: z.enum(BLOB_PURPOSES) }
const blobsSchema = z.object({ ...blobFields, sha256s: z.array(sha256).min(1).max(BLOBS_ASKED_MAX) })
const sliceSchema = z.object({ sha256, bytes: z.int().min(0), offset: z.int().min(0), length: z.int().min(0) })
const partSchema = z.object({ ...blobFields, slices: z.array(sliceSchema).min(1).max(BLOB_SLICES_MAX) })
const blobSchema = z.object({ ...blobFields, sha256: sha256.nullable(), offset: z.int().min(0) })

const inputsSchema = z.object({
  agentId: z.uuid(),
  kernelId: z.uuid(),
  assignment: z.int().min(0).max(2_147_483_647),
  after: z.string().max(4_096).nullable(),
})

const checkpointSchema = z.object({
  ...kernelFields,
  generation: z.int().min(0).max(GENERATION_MAX),
  copy: z
    .object({
      sha256,
      archiveBytes: z.int().min(0),
      files: z.int().min(0).max(2_147_483_647),
      bytes: z.int().min(0),
    })
    .optional(),
  running: z.boolean().optional(),
  order: z.int().min(0).optional(),
})

/** For BLOBS_ASKED_MAX hashes. */
const HAVE_BYTES_MAX = 128 * 1024

/**
 * How long a client may continue to send a request that was refused, and may pause meanwhile, before the connection is
 * cut. A client whose connection is cut while it sends does not read its answer.
 */
const LINGER_MS = { total: 30_000, pause: 5_000 }

export interface AgentApiContext {
  gateway: ServerGateway
  authenticate: Authenticate
  ownership: AgentOwnership
  log: Logger
  /** Missing if no channels are served. */
  channels?: ChannelHolders
  /** Limit for receiving a request body, in milliseconds. */
  bodyWithinMs?: number
  /** Limits for a client that sends a refused request, in milliseconds. */
  lingerMs?: typeof LINGER_MS
}

/** The agent protocol over HTTP, for remote agents: each gateway call is a POST with JSON bodies. */
export interface AgentApi {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  /**
   * Accepts an agent's connection for a channel and takes over the socket.
   * @returns false if nothing here waits for it
   */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** The server is stopping: answers waiting polls at once and refuses new requests. */
  end(): void
}

interface AgentEnvironment {
  Bindings: HttpBindings & { requestId: string }
  Variables: {
    viewer: Viewer
    /** Aborts when the client has left, or has received its answer. */
    gone: AbortSignal
  }
}

export function createAgentApi(context: AgentApiContext): AgentApi {
  const { gateway, authenticate, ownership, log, bodyWithinMs: withinMs = AGENT_BODY_WITHIN_MS } = context
  const { lingerMs = LINGER_MS } = context
  const polls = createPolls()
  const withBody = createBodyRoom(BLOB_PARTS_AT_ONCE_MAX, BLOB_PART_BYTES)
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: CHANNEL_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
  })
  const app = new Hono<AgentEnvironment>()

  app.use(async (c, next) => {
    if (c.req.method !== 'POST') throw new RepriseError('METHOD_NOT_ALLOWED', 'only POST is allowed here')
    if (polls.ended)
      throw new RepriseError('SERVER_STOPPING', 'the server is shutting down; try again later, or use another one')
    const { incoming, outgoing } = c.env
    const { viewer } = await identifyBearer(authenticate, incoming.headers.authorization, incoming.socket.remoteAddress)
    noteKnown(incoming.socket)
    ownership.assertIsAgent(viewer)
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    c.set('viewer', viewer)
    c.set('gone', gone.signal)
    await next()
  })
  app.all(AGENT_REGISTER_PATH, async (c) => {
    const body = await readJson(c.env.incoming, { bytesMax: REGISTER_BYTES_MAX, withinMs })
    return answer(c, await gateway.register(body as RegisterRequest, c.get('gone'), c.get('viewer')))
  })
  app.all(AGENT_SYNC_PATH, async (c) => {
    const sync = parseEnvelope(await readJson(c.env.incoming, { bytesMax: SYNC_BYTES_MAX, withinMs }))
    await ownership.assertOwns(c.get('viewer'), sync.agentId)
    const key = `${sync.agentId} ${sync.instanceId}`
    return answer(c, await polls.run(key, c.get('gone'), (signal) => gateway.sync(sync, signal)))
  })
  app.all(AGENT_CODE_PATH, async (c) => {
    const request = parseInput(codeSchema, await readJson(c.env.incoming, { bytesMax: REGISTER_BYTES_MAX, withinMs }))
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    const { bytes, chunks } = await gateway.fetchCode(request, c.get('gone'))
    return sendArchive(c.env.outgoing, bytes, chunks)
  })
  app.all(AGENT_INPUTS_PATH, async (c) => {
    const request = parseInput(inputsSchema, await readJson(c.env.incoming, { bytesMax: REGISTER_BYTES_MAX, withinMs }))
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    return answer(c, await gateway.listInputs(request, c.get('gone')))
  })
  app.all(AGENT_OUTPUTS_PATH, async (c) => {
    const given = await readJson(c.env.incoming, { bytesMax: OUTPUTS_REPORT_BYTES_MAX, withinMs })
    const { agentId } = parseInput(codeSchema, given)
    await ownership.assertOwns(c.get('viewer'), agentId)
    return answer(c, await gateway.reportOutputs(given as OutputsReport, c.get('gone')))
  })
  app.all(AGENT_CHECKPOINT_OFFER_PATH, async (c) => {
    const given = await readJson(c.env.incoming, { bytesMax: REGISTER_BYTES_MAX, withinMs })
    const request = parseInput(checkpointSchema, given)
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    return answer(c, await gateway.offerCheckpoint(request, c.get('gone')))
  })
  app.all(AGENT_CHECKPOINT_SEND_PATH, async (c) => {
    const { incoming } = c.env
    const { copy, ...request } = parseInput(checkpointSchema, jsonOf(incoming, AGENT_CHECKPOINT_HEADER))
    if (copy === undefined)
      throw new RepriseError('MALFORMED_REQUEST', 'the header reprise-checkpoint does not describe the copy')
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    return answer(c, await gateway.sendCheckpoint({ ...request, copy }, bodyOf(incoming), c.get('gone')))
  })
  app.all(AGENT_CHECKPOINT_FETCH_PATH, async (c) => {
    const request = parseInput(codeSchema, await readJson(c.env.incoming, { bytesMax: REGISTER_BYTES_MAX, withinMs }))
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    const { bytes, chunks, ...copy } = await gateway.fetchCheckpoint(request, c.get('gone'))
    return sendArchive(c.env.outgoing, bytes, chunks, { [AGENT_CHECKPOINT_HEADER]: JSON.stringify(copy) })
  })
  app.all(AGENT_BLOB_HAVE_PATH, async (c) => {
    const request = parseInput(blobsSchema, await readJson(c.env.incoming, { bytesMax: HAVE_BYTES_MAX, withinMs }))
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    return answer(c, await gateway.haveBlobs(request, c.get('gone')))
  })
  app.all(AGENT_BLOB_PART_PATH, async (c) => {
    const { incoming } = c.env
    const request = parseInput(partSchema, jsonOf(incoming, AGENT_BLOB_HEADER))
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    const bounds = { withinMs: BLOB_PART_WITHIN_MS }
    const states = withBody(incoming, bounds, (body) => gateway.sendParts(request, body, c.get('gone')))
    return answer(c, await states)
  })
  app.all(AGENT_BLOB_PATH, async (c) => {
    const request = parseInput(blobSchema, await readJson(c.env.incoming, { bytesMax: REGISTER_BYTES_MAX, withinMs }))
    await ownership.assertOwns(c.get('viewer'), request.agentId)
    const { bytes, chunks, ...blob } = await gateway.fetchBlob(request, c.get('gone'))
    return sendArchive(c.env.outgoing, bytes, chunks, { [AGENT_BLOB_HEADER]: JSON.stringify(blob) })
  })
  app.onError((thrown, c) => {
    if (thrown instanceof RequestGone) return RESPONSE_ALREADY_SENT
    const error = isDatabaseOutage(thrown) ? databaseAway() : (outageOf(thrown) ?? thrown)
    const { requestId, incoming, outgoing } = c.env
    if (!(error instanceof RepriseError))
      log.error({ err: error, requestId, url: incoming.url }, 'a request met a fault')
    cutOffLater(incoming, lingerMs)
    return answerError(outgoing, error, requestId)
  })

  function answer({ env }: Context<AgentEnvironment>, body: object): Response {
    return send(env.outgoing, 200, body, polls.ended && { Connection: 'close' })
  }

  return {
    paths: [
      AGENT_REGISTER_PATH,
      AGENT_SYNC_PATH,
      AGENT_CODE_PATH,
      AGENT_INPUTS_PATH,
      AGENT_OUTPUTS_PATH,
      AGENT_CHECKPOINT_OFFER_PATH,
      AGENT_CHECKPOINT_SEND_PATH,
      AGENT_CHECKPOINT_FETCH_PATH,
      AGENT_BLOB_HAVE_PATH,
      AGENT_BLOB_PART_PATH,
      AGENT_BLOB_PATH,
    ],
    async handle(request, response, requestId) {
      const listener = getRequestListener((given, env) => app.fetch(given, { ...env, requestId }), {
        overrideGlobalObjects: false,
        autoCleanupIncoming: false,
        // A request of HTTP/1.0 may name no host.
        hostname: 'localhost',
        // Called if no `Request` could be created from the request, because its Host header is invalid.
        errorHandler: (thrown) => {
          const error = thrown instanceof RequestError ? new RepriseError('MALFORMED_REQUEST', thrown.message) : thrown
          return answerError(response, error, requestId)
        },
      })
      await listener(request, response)
    },
    upgrade(request, socket, head) {
      const { authorization = '' } = request.headers
      const [path = ''] = request.url!.split('?', 1)
      if (!path.startsWith(AGENT_CHANNEL_PATH)) return false
      const channelId = path.slice(AGENT_CHANNEL_PATH.length)
      const take = context.channels?.find({ channelId, secret: authorization.replace(/^Bearer +/i, '') })
      if (!take) return false
      sockets.handleUpgrade(request, socket, head, (webSocket) => take(webSocketPort(webSocket)))
      return true
    },
    end: () => polls.end(),
  }
}

/**
 * Writes the answer at once. A `Response` of the platform, which is read as a stream, costs a quarter of a request to
 * this API.
 */
function send(response: ServerResponse, status: number, body: object, headers: OutgoingHttpHeaders | false): Response {
  if (response.destroyed) return RESPONSE_ALREADY_SENT
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  })
  response.end(text)
  return RESPONSE_ALREADY_SENT
}

const LISTENERS_MAX = 20

/** Sends an archive; the client recognises a truncated answer by its length. */
async function sendArchive(
  response: ServerResponse,
  bytes: number,
  chunks: AsyncIterable<Uint8Array>,
  headers: OutgoingHttpHeaders = {},
): Promise<Response> {
  response.writeHead(200, {
    'Content-Type': 'application/x-tar',
    'Content-Length': bytes,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  })
  // The listeners of the HTTP server, of this API and of the pipeline are more than Node's limit, which warns of a
  // leak.
  response.setMaxListeners(LISTENERS_MAX)
  await pipeline(chunks, response).catch(() => response.destroy())
  return RESPONSE_ALREADY_SENT
}

/**
 * Yields the body; the HTTP server ends a body that stalls.
 * @throws RequestGone
 */
async function* bodyOf(incoming: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) yield chunk as Uint8Array
  } catch {
    throw new RequestGone()
  }
}

/** Known errors are sent as they are; any other shows only the request id, under which the log has the details. */
function answerError(response: ServerResponse, error: unknown, requestId: string): Response {
  const { status, body } = describe(error, requestId)
  return send(response, status, body, {
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(status === 405 && { Allow: 'POST' }),
    ...((status === 408 || status === 503) && { Connection: 'close' }),
  })
}

function describe(error: unknown, requestId: string): { status: number; body: AgentErrorAnswer } {
  if (!(error instanceof RepriseError)) {
    const message = maskedFault(requestId)
    return { status: 500, body: { code: 'INTERNAL', message, issues: [], requestId } }
  }
  const { code, message, issues } = error
  return { status: ERRORS[code].httpStatus, body: { code, message, issues, requestId } }
}

function cutOffLater(request: IncomingMessage, { total, pause }: typeof LINGER_MS): void {
  if (request.complete) return
  const { socket } = request
  const until = performance.now() + total
  let { bytesRead } = socket
  const timer = setInterval(() => {
    const isSending = socket.bytesRead > bytesRead && performance.now() < until
    if (!isSending) request.destroy()
    bytesRead = socket.bytesRead
  }, pause)
  request.once('close', () => clearInterval(timer))
}

/** @throws RepriseError MALFORMED_REQUEST */
function jsonOf({ headers }: IncomingMessage, name: string): unknown {
  return parseJson(Buffer.from(String(headers[name])), 'no JSON in its header')
}

/** @throws RepriseError REQUEST_TOO_LARGE, REQUEST_TIMEOUT, MALFORMED_REQUEST */
async function readJson(request: IncomingMessage, limits: { bytesMax: number; withinMs: number }): Promise<unknown> {
  const messageOf = (excess: string) => `the request is too large: ${excess}`
  return parseJson(await readBody(request, { ...limits, messageOf }), 'not JSON in UTF-8')
}

/** @throws RepriseError VALIDATION_FAILED */
function parseEnvelope(body: unknown): SyncRequest {
  parseInput(schema, body)
  return body as SyncRequest
}

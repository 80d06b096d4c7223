import type { IncomingMessage, ServerResponse } from 'node:http'
import { AGENT_REGISTER_PATH, AGENT_SYNC_PATH, type AgentErrorAnswer } from '../../domain/agent/http-protocol.ts'
import type { RegisterRequest, SyncRequest } from '../../domain/agent/protocol.ts'
import { RepriseError, ERRORS, maskedFault } from '../../domain/errors.ts'
import { AGENT_BODY_WITHIN_MS, REGISTER_BYTES_MAX, SYNC_BYTES_MAX } from '../../domain/limits.ts'
import type { Logger } from '../../observability/log.ts'
import type { AgentOwnership } from '../../services/agent/agent-ownership.ts'
import type { Authenticate } from '../../services/access/authenticate.ts'
import { identifyBearer } from '../../services/access/bearer-token.ts'
import { databaseUnavailable, isDatabaseOutage } from '../../services/database-outage.ts'
import type { Viewer } from '../../services/service-context.ts'
import type { ServerGateway } from '../gateway.ts'
import { readJson, RequestGone } from './read-json.ts'
import { z } from 'zod'
import { parseInput } from '../../services/input/parse-input.ts'

/** The fields that the gateway needs before the service validates the whole sync. */
const schema = z.looseObject({
  agentId: z.uuid(),
  instanceId: z.uuid(),
  sequence: z.int().min(1),
  waitMs: z.number(),
})

/** How long a client may continue to send a request that was refused before the connection is cut. */
const LINGER_MS = 5_000

export interface AgentApiContext {
  gateway: ServerGateway
  authenticate: Authenticate
  ownership: AgentOwnership
  log: Logger
  /** Limit for receiving a request body, in milliseconds. */
  bodyWithinMs?: number
}

/** The agent protocol over HTTP, for remote agents: each gateway call is a POST with JSON bodies. */
export interface AgentApi {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  /** The server is stopping: answers waiting polls at once and refuses new requests. */
  end(): void
}

type Call = (request: IncomingMessage, viewer: Viewer, gone: AbortSignal) => Promise<object>

export function createAgentApi(context: AgentApiContext): AgentApi {
  const { gateway, ownership, log, bodyWithinMs: withinMs = AGENT_BODY_WITHIN_MS } = context
  const polls = createPolls()

  const calls: Record<string, Call> = {
    async [AGENT_REGISTER_PATH](request, viewer, gone) {
      const body = await readJson(request, { bytesMax: REGISTER_BYTES_MAX, withinMs })
      return gateway.register(body as RegisterRequest, gone, viewer)
    },
    async [AGENT_SYNC_PATH](request, viewer, gone) {
      const body = await readJson(request, { bytesMax: SYNC_BYTES_MAX, withinMs })
      const sync = parseEnvelope(body)
      await ownership.assertOwns(viewer, sync.agentId)
      return polls.run(`${sync.agentId} ${sync.instanceId}`, gone, (signal) => gateway.sync(sync, signal))
    },
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<object> {
    const call = calls[request.url!.split('?', 1)[0]!]!
    if (request.method !== 'POST') throw new RepriseError('METHOD_NOT_ALLOWED', 'only POST is allowed here')
    if (polls.ended)
      throw new RepriseError('SERVER_STOPPING', 'the server is shutting down; try again later, or use another one')
    const { authorization } = request.headers
    const { viewer } = await identifyBearer(context.authenticate, authorization, request.socket.remoteAddress)
    ownership.assertIsAgent(viewer)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    return call(request, viewer, gone.signal)
  }

  return {
    paths: Object.keys(calls),
    async handle(request, response, requestId) {
      try {
        const answer = await serve(request, response)
        if (polls.ended) response.setHeader('Connection', 'close')
        answerJson(response, 200, answer)
      } catch (thrown) {
        if (thrown instanceof RequestGone) return
        const error = isDatabaseOutage(thrown) ? databaseUnavailable() : thrown
        if (!(error instanceof RepriseError))
          log.error({ err: error, requestId, url: request.url }, 'a request met a fault')
        answerError(request, response, requestId, error)
      }
    },
    end: () => polls.end(),
  }
}

function answerJson(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed) return
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(text)
}

/** Known errors are sent as they are; any other shows only the request id, under which the log has the details. */
function answerError(request: IncomingMessage, response: ServerResponse, requestId: string, error: unknown): void {
  const { status, body } = describe(error, requestId)
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
  if (status === 405) response.setHeader('Allow', 'POST')
  if (status === 408 || status === 503) response.setHeader('Connection', 'close')
  answerJson(response, status, body)
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), LINGER_MS)
  request.once('close', () => clearTimeout(timer))
}

function describe(error: unknown, requestId: string): { status: number; body: AgentErrorAnswer } {
  if (!(error instanceof RepriseError)) {
    const message = maskedFault(requestId)
    return { status: 500, body: { code: 'INTERNAL', message, issues: [], requestId } }
  }
  const { code, message, issues } = error
  return { status: ERRORS[code].httpStatus, body: { code, message, issues, requestId } }
}

/**
 * Syncs in flight, one per agent instance. A newer sync ends the wait of the previous one, whose connection may have
 * been dead for a long time.
 */
interface Polls {
  run<T>(key: string, gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Ends all waits, including those of later syncs. */
  end(): void
  readonly ended: boolean
}

function createPolls(): Polls {
  const ending = new AbortController()
  const latest = new Map<string, AbortController>()
  return {
    async run(key, gone, work) {
      const replaced = new AbortController()
      latest.get(key)?.abort()
      latest.set(key, replaced)
      try {
        return await work(AbortSignal.any([gone, replaced.signal, ending.signal]))
      } finally {
        if (latest.get(key) === replaced) latest.delete(key)
      }
    },
    end: () => ending.abort(),
    get ended() {
      return ending.signal.aborted
    },
  }
}

/** @throws RepriseError VALIDATION_FAILED */
function parseEnvelope(body: unknown): SyncRequest {
  parseInput(schema, body)
  return body as SyncRequest
}

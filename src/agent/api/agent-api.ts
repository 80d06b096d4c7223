import type { IncomingMessage, ServerResponse } from 'node:http'
import { AGENT_REGISTER_PATH, AGENT_SYNC_PATH } from '../../domain/agent/http-protocol.ts'
import type { RegisterRequest } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { AGENT_BODY_WITHIN_MS, REGISTER_BYTES_MAX, SYNC_BYTES_MAX } from '../../domain/limits.ts'
import type { Logger } from '../../observability/log.ts'
import type { AgentOwnership } from '../../services/agent/agent-ownership.ts'
import type { Authenticate } from '../../services/access/authenticate.ts'
import { identifyBearer } from '../../services/access/bearer-token.ts'
import { databaseUnavailable, isDatabaseOutage } from '../../services/database-outage.ts'
import type { Viewer } from '../../services/service-context.ts'
import type { ServerGateway } from '../gateway.ts'
import { answerError, answerJson } from './answer.ts'
import { createPolls } from './polls.ts'
import { readJson, RequestGone } from './read-json.ts'
import { parseEnvelope } from './sync-envelope.ts'

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

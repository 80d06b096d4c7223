import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { duration } from '../domain/durations.ts'
import { RepriseError } from '../domain/errors.ts'
import { WAIT_ANSWERED_WITHIN_SECONDS, WAIT_MAX_SECONDS, WAITED_SESSIONS_MAX } from '../domain/limits.ts'
import { FAILURE_CAUSES } from '../domain/session/failure.ts'
import { createEndWaits, type EndWait } from '../events/end-waits.ts'
import { type ChainEndRow, chainsOfSessions, readChainEnds } from '../services/chain.ts'
import { parseInput } from '../services/input/parse-input.ts'
import type { ReadContext } from '../services/session/read-sessions.ts'
import type { StreamServices } from './event-stream.ts'
import { time, toTime } from './fields.ts'
import { readJsonObject, writtenInput } from './json-body.ts'
import { component, inputSchema } from './openapi.ts'
import type { RestApp, RestEnvironment } from './rest-app.ts'
import { BODY_PROBLEMS, COMMON_PROBLEMS, json, jsonBody, problems } from './route-parts.ts'

/** Seconds that a request waits at most. */
export const waitTimeout = duration(z.number().min(0).max(WAIT_MAX_SECONDS))

const bodySchema = z.strictObject({
  sessionIds: z.array(z.uuid().toLowerCase()).min(1).max(WAITED_SESSIONS_MAX),
  timeout: waitTimeout,
  any: z.boolean().default(false),
})

const WAIT_INPUT = component('SessionsWaitInput', {
  ...inputSchema(bodySchema),
  description:
    'Sessions, each of which stands for its chain; for how many seconds to wait; and with `any`, to wait only for one.',
})

const EndResource = z
  .object({
    session_id: z.uuid().openapi({ description: 'The session of the request.' }),
    chain_id: z.uuid(),
    state: z.enum(['SUCCEEDED', 'FAILED', 'CANCELLED']),
    newest_session_id: z.uuid().openapi({ description: 'The newest attempt, which the following fields are about.' }),
    attempts: z.int(),
    exit_code: z.int().nullable(),
    cause: z.enum(FAILURE_CAUSES).nullable(),
    reason: z.string().nullable(),
    ended_at: time().nullable(),
  })
  .openapi('SessionEnd', { description: 'How the chain of a session has ended.' })

const WaitResource = z
  .object({
    ended: z.array(EndResource).openapi({ description: 'In the order of the request.' }),
    pending: z.array(z.uuid()).openapi({ description: 'Sessions whose chains have not ended.' }),
  })
  .openapi('SessionsWait')

const route = createRoute({
  method: 'post',
  path: '/v2/sessions/wait',
  operationId: 'waitForSessions',
  summary: 'Wait until sessions have ended',
  description:
    'Responds as soon as the chains of all sessions have ended, with `any` as soon as one has, or when the time is over, after 50 seconds at the latest. An attempt that is retried is no end. A server that stops responds at once: repeat the request at any server until `pending` is empty.',
  tags: ['sessions'],
  request: {
    body: jsonBody(WAIT_INPUT, { session_ids: ['00000000-0000-7000-8000-000000000000'], timeout: 30, any: false }),
  },
  responses: {
    200: json(WaitResource, 'The chains that have ended, and those that have not.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'SESSION_NOT_FOUND', 'TOO_MANY_SUBSCRIPTIONS'),
  },
})

export function serveWaits(app: RestApp, streams: StreamServices & Pick<ReadContext, 'db'>): void {
  const waits = createEndWaits({
    bus: streams.bus,
    types: ['chain.succeeded', 'chain.failed', 'chain.cancelled'],
    keyOf: ({ chainId }) => chainId,
    read: (chainIds) => readChainEnds(streams, chainIds),
  })
  app.openapi(route, async (c) => {
    const body = writtenInput(await readJsonObject(c.env.incoming))
    const { sessionIds: given, timeout, any } = parseInput(bodySchema, body)
    const sessionIds = [...new Set(given)]
    const chains = await chainsOfSessions(c.get('context'), sessionIds)
    const wait = waits.wait([...new Set(chains.values())], { any })
    const found = await untilEnded(c, streams, { wait, timeout })
    const outcomes = sessionIds.map((id) => [id, found.get(chains.get(id)!)] as const)
    const ended = outcomes.flatMap(([id, end]) => (end === undefined ? [] : [toEnd(id, end)]))
    const pending = outcomes.flatMap(([id, end]) => (end === undefined ? [id] : []))
    return c.json({ ended, pending }, 200)
  })
}

function toEnd(sessionId: string, end: ChainEndRow): z.infer<typeof EndResource> {
  const { chainId, state, newestSessionId, attempts, exitCode, cause, reason, endedAt } = end
  return {
    session_id: sessionId,
    chain_id: chainId,
    state,
    newest_session_id: newestSessionId,
    attempts,
    exit_code: exitCode,
    cause,
    reason,
    ended_at: toTime(endedAt),
  }
}

/**
 * Waits at most this number of seconds, and not longer than client and server are there. The wait counts as a
 * subscription of the token, and not among its requests.
 *
 * @throws RepriseError TOO_MANY_SUBSCRIPTIONS, and UNAUTHENTICATED if the token is revoked meanwhile
 */
export async function untilEnded<End>(
  c: Context<RestEnvironment>,
  { openSubscriptions, closing }: Pick<StreamServices, 'openSubscriptions' | 'closing'>,
  { wait, timeout }: { wait: EndWait<End>; timeout: number },
): Promise<ReadonlyMap<string, End>> {
  const gone = c.get('gone')
  // Its failure is reported below, unless the wait is refused first.
  wait.found.catch(() => {})
  let isRevoked = false
  let leave = wait.stop
  const timer = setTimeout(wait.stop, Math.min(timeout, WAIT_ANSWERED_WITHIN_SECONDS) * 1_000)
  try {
    ;({ leave } = openSubscriptions.open({
      tokenId: c.get('context').viewer.tokenId,
      connection: c.env.incoming,
      stillAuthorized: c.get('stillAuthorized'),
      end() {
        isRevoked = true
        wait.stop()
      },
    }))
    for (const signal of [gone, closing]) {
      signal.addEventListener('abort', wait.stop, { once: true })
      if (signal.aborted) wait.stop()
    }
    c.get('leaveTurn')()
    const found = await wait.found
    // Otherwise the server would wait until the idle connection is closed.
    if (closing.aborted) c.env.outgoing.setHeader('Connection', 'close')
    if (isRevoked) throw new RepriseError('UNAUTHENTICATED', 'The token is no longer valid.')
    return found
  } finally {
    clearTimeout(timer)
    for (const signal of [gone, closing]) signal.removeEventListener('abort', wait.stop)
    leave()
  }
}

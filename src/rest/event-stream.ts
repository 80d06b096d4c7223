import type { Context } from 'hono'
import { RepriseError } from '../domain/errors.ts'
import { STREAM_HEARTBEAT_MS } from '../domain/limits.ts'
import type { EventBus } from '../events/bus.ts'
import type { LogRelay } from '../events/kernel-logs.ts'
import type { OpenSubscriptions } from '../events/open-subscriptions.ts'
import type { Topics } from '../events/wake-hub.ts'
import { readFor } from '../services/consistent-reads.ts'
import { toRepriseError } from './answer-errors.ts'
import { problemOf } from './problem.ts'
import type { RestEnvironment } from './rest-app.ts'
import { z } from '@hono/zod-openapi'

/** Services that streams use, like the subscriptions of GraphQL. */
export interface StreamServices {
  bus: EventBus
  topics: Topics
  logRelay: LogRelay
  openSubscriptions: OpenSubscriptions
  /** Aborts when the server closes. */
  closing: AbortSignal
}

interface SentEvent {
  /** Id of the event: a client that sends it back continues after this event. */
  id?: string
  event: string
  data: object
}

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Keeps proxies from buffering events.
  'X-Accel-Buffering': 'no',
}
/** Clients that reconnect by themselves do so after this time. */
const RECONNECT_AFTER_MS = 1_000
const HEARTBEAT = ':\n\n'
/** Maximum length of the text of events that are written together. */
const WRITTEN_CHARACTERS_MAX = 64 * 1024

/**
 * Responds with server-sent events. The stream counts as a subscription of its token. It ends when the token is
 * revoked, when the server closes and when the client disconnects. The source is read only as fast as the client reads,
 * and limits what it buffers. An error during the stream is sent as a last event, `problem`.
 * @throws RepriseError TOO_MANY_SUBSCRIPTIONS, after ending the source
 */
export function sendEvents<T>(
  c: Context<RestEnvironment>,
  { openSubscriptions, closing }: StreamServices,
  options: {
    source: AsyncIterableIterator<readonly T[]>
    /** Id with which a client that was disconnected before its first event continues. */
    from?: string | undefined
    show: (item: T) => SentEvent
    /** The last event, sent if the source ends by itself. */
    last?: SentEvent
  },
): Response {
  const { source, from, show, last } = options
  const { viewer, log } = c.get('context')
  const [gone, stillAuthorized, requestId] = [c.get('gone'), c.get('stillAuthorized'), c.get('requestId')]
  const reader = { party: viewer.tokenId, signal: gone }
  let revoked = false
  let leave = () => {}
  const end = () => {
    leave()
    source.return?.()?.catch((error: unknown) => log.warn({ err: error }, 'a stream of events failed at its end'))
  }
  const revoke = () => {
    revoked = true
    end()
  }
  try {
    ;({ leave } = openSubscriptions.open({
      tokenId: viewer.tokenId,
      connection: c.env.incoming,
      stillAuthorized,
      end: revoke,
    }))
  } catch (error) {
    end()
    throw error
  }
  gone.addEventListener('abort', end, { once: true })
  if (gone.aborted) end()

  const assertAuthorized = () => {
    if (revoked) throw new RepriseError('UNAUTHENTICATED', 'The token is no longer valid.')
  }

  async function* frames(): AsyncGenerator<string, void, void> {
    yield `retry: ${RECONNECT_AFTER_MS}\n${from === undefined ? '' : `id: ${from}\n`}\n`
    const next = orSilence(() => readFor(reader, () => source.next()), STREAM_HEARTBEAT_MS)
    try {
      for (;;) {
        const result = await next()
        if (result === 'silence') {
          yield HEARTBEAT
          continue
        }
        if (!result.done && !(await stillAuthorized())) revoked = true
        assertAuthorized()
        if (result.done) break
        let text = ''
        for (const item of result.value) {
          text += frame(show(item))
          if (text.length < WRITTEN_CHARACTERS_MAX) continue
          yield text
          assertAuthorized()
          text = ''
        }
        if (text !== '') yield text
      }
      if (last && !closing.aborted) yield frame(last)
    } catch (thrown) {
      const error = toRepriseError(thrown as Error)
      if (!(error instanceof RepriseError)) log.error({ err: error, path: c.req.path }, 'a stream failed unexpectedly')
      yield frame({ event: 'problem', data: problemOf(error, requestId).body })
    } finally {
      end()
    }
  }

  const sent = frames()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await sent.next()
        if (done) controller.close()
        else controller.enqueue(Buffer.from(value))
      },
      cancel: end,
    },
    // Nothing is read from the source before the client asks.
    { highWaterMark: 0 },
  )
  return c.body(body, 200, HEADERS)
}

function frame({ id, event, data }: SentEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Returns the next item, or `silence` if none came in this time; the next call then waits for the same item. */
function orSilence<T>(next: () => Promise<T>, afterMs: number): () => Promise<T | 'silence'> {
  let pending: Promise<T> | undefined
  return async () => {
    pending ??= next()
    const { promise: silence, resolve } = Promise.withResolvers<'silence'>()
    const timer = setTimeout(resolve, afterMs, 'silence')
    try {
      const found = await Promise.race([pending, silence])
      if (found !== 'silence') pending = undefined
      return found
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The header that clients send when they reconnect, for a route's `request.headers`. */
export const LastEventId = z.object({
  'last-event-id': z
    .string()
    .optional()
    .openapi({ description: 'The `id` of the last event that the client received: the stream continues after it.' }),
})

/** Returns the id after which a client continues. The header takes precedence over the parameter. */
export function afterOf(
  headers: z.output<typeof LastEventId>,
  { after }: { after?: string | undefined },
): string | undefined {
  return headers['last-event-id'] || after
}

/** Describes events whose `data:` has this schema, for a route's `responses`. */
export function eventStream({ $ref }: { $ref: string }) {
  // A keyword of JSON Schema that the type of `openapi` lacks.
  const described: object = { contentSchema: { $ref } }
  return {
    description:
      'Server-sent events. The `data:` of each is JSON, as described by `contentSchema`. The last event may be a `problem`.',
    content: { 'text/event-stream': { schema: z.string().openapi(described) } },
  }
}

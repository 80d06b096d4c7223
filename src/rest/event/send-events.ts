import type { Context } from 'hono'
import { RepriseError } from '../../domain/errors.ts'
import { STREAM_HEARTBEAT_MS } from '../../domain/limits.ts'
import type { EventBus } from '../../events/bus.ts'
import type { LogRelay } from '../../events/log-relay.ts'
import type { OpenSubscriptions } from '../../events/open-subscriptions.ts'
import type { Topics } from '../../events/topics.ts'
import { readFor } from '../../services/consistent-reads.ts'
import { toRepriseError } from '../answer-errors.ts'
import { problemOf } from '../resources/problem.ts'
import type { RestEnvironment } from '../rest-app.ts'

/** What streams need of a server, and share with the subscriptions of GraphQL. */
export interface StreamServices {
  bus: EventBus
  topics: Topics
  logRelay: LogRelay
  openSubscriptions: OpenSubscriptions
  /** Aborts when the server closes. */
  closing: AbortSignal
}

interface SentEvent {
  /** Where a client goes on that has got this one. */
  id?: string
  event: string
  data: object
}

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Proxies that gather what they pass on would hold events back.
  'X-Accel-Buffering': 'no',
}
/** How soon clients that do so by themselves come back. */
const RECONNECT_AFTER_MS = 1_000
const HEARTBEAT = ':\n\n'
/** Of events that are written at once, but for the last of them. */
const WRITTEN_CHARACTERS_MAX = 64 * 1024

/**
 * Answers with server-sent events. The stream counts as a subscription of its token and ends with that, with the server,
 * and with the client. What the client does not read is not taken from the source, which bounds what waits for it. What
 * goes wrong on the way is told as an event `problem`, the last one.
 * @throws RepriseError TOO_MANY_SUBSCRIPTIONS, after ending the source
 */
export function sendEvents<T>(
  c: Context<RestEnvironment>,
  { openSubscriptions, closing }: StreamServices,
  options: {
    source: AsyncIterableIterator<readonly T[]>
    /** The id with which a client goes on that has got nothing yet. */
    from?: string | undefined
    show: (item: T) => SentEvent
    /** Follows when the source ends by itself. */
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
    source.return?.()?.catch((error: unknown) => log.warn({ err: error }, 'a stream of events ended with a fault'))
  }
  const revoke = () => {
    revoked = true
    end()
  }
  try {
    leave = openSubscriptions.open({
      tokenId: viewer.tokenId,
      connection: c.env.incoming,
      stillAuthorized,
      end: revoke,
    })
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
      if (!(error instanceof RepriseError)) log.error({ err: error, path: c.req.path }, 'a stream met a fault')
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
    // Nothing is taken before it is asked for.
    { highWaterMark: 0 },
  )
  return c.body(body, 200, HEADERS)
}

function frame({ id, event, data }: SentEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** What comes next, or that nothing has come for so long: what is waited for is then waited for by the next call. */
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

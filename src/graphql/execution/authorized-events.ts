import type { OutboxEvent } from '../../domain/events.ts'
import { followEvents } from '../../events/follow-events.ts'
import { assertCursorKept } from '../../events/past-events.ts'
import { readFor } from '../../services/consistent-reads.ts'
import { eventCursorOf, type EventFilterInput, visibleEvents } from '../../services/event.ts'
import { type GraphQLContext, readerOf, renew } from '../context.ts'
import { presentThrown } from '../error-presentation.ts'

/** The events of a subscription, bound to its token. */
export interface AuthorizedEvents<T> extends AsyncIterable<T> {
  /**
   * The next events, at least one and at most `limit`; null after the last. Drops everything that was loaded for
   * earlier events.
   */
  take(limit: number): Promise<readonly T[] | null>
  /** True once nothing may be delivered any more, not even events that were taken earlier. */
  readonly ended: boolean
  end(): Promise<void>
}

/**
 * Binds a subscription's source to its token: the subscription counts as open until it ends, and ends when the token is
 * no longer valid. The token is checked again before each batch of events is taken. A fault of the source or of the
 * check ends the subscription. The fault is turned into an error for clients here, because the executor would report it
 * unchanged.
 * @throws RepriseError TOO_MANY_SUBSCRIPTIONS, after ending the source
 */
export function authorizedEvents<T>(
  context: GraphQLContext,
  source: AsyncIterableIterator<readonly T[]>,
): AuthorizedEvents<T> {
  const { stillAuthorized, connection, viewer } = context
  let waiting: readonly T[] = []
  let ended = false
  const revoke = () => {
    end().catch(() => undefined)
    context.revoked()
  }

  let leave = () => {}
  try {
    const { openSubscriptions } = context.services
    leave = openSubscriptions.open({ tokenId: viewer.tokenId, connection, stillAuthorized, end: revoke })
  } catch (error) {
    source.return?.()?.catch(() => undefined)
    throw error
  }

  async function end(): Promise<void> {
    ended = true
    waiting = []
    leave()
    await source.return?.()
  }

  async function take(limit: number): Promise<readonly T[] | null> {
    try {
      if (waiting.length === 0) {
        const result = await readFor(readerOf(context), () => source.next())
        if (result.done || ended) {
          leave()
          return null
        }
        waiting = result.value
      }
      if (!(await stillAuthorized())) {
        await end()
        context.revoked()
        return null
      }
      renew(context)
      const taken = waiting.slice(0, limit)
      waiting = waiting.slice(limit)
      return taken
    } catch (thrown) {
      await end()
      throw presentThrown(thrown, context)
    }
  }

  return {
    take,
    get ended() {
      return ended
    },
    end,
    async *[Symbol.asyncIterator]() {
      for (let events = await take(1); events; events = await take(1)) yield* events
    },
  }
}

/**
 * Events of these types that the viewer may see, from a cursor or from now on.
 * @throws RepriseError for a cursor that is invalid or has expired
 */
export async function eventStream<Event extends OutboxEvent>(
  context: GraphQLContext,
  input: { filter: EventFilterInput; types: ReadonlySet<Event['type']>; after: string | null | undefined },
): Promise<AuthorizedEvents<Event>> {
  const { filter, types } = input
  const { viewer, services } = context
  const after = eventCursorOf(input.after)
  if (after) await assertCursorKept(context.db, after)
  const { db, bus, prisma, closing } = services
  const wanted = { ...(await visibleEvents({ viewer, prisma }, filter)), types }
  const events = followEvents({ db, bus, closing, after, filter: wanted })
  return authorizedEvents(context, events as AsyncIterableIterator<readonly Event[]>)
}

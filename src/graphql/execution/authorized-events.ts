import type { OutboxEvent } from '../../domain/events.ts'
import { followEvents } from '../../events/follow-events.ts'
import { assertCursorKept } from '../../events/past-events.ts'
import { readFor } from '../../services/consistent-reads.ts'
import { eventCursorOf, type EventFilterInput, visibleEvents } from '../../services/event.ts'
import { type GraphQLContext, readerOf, renew } from '../context.ts'
import { presentThrown } from '../error-presentation.ts'

/** The events of a subscription, bound to its token. */
export interface AuthorizedEvents<T> extends AsyncIterable<T> {
  /** The next events, at least one and at most `limit`; null after the last. */
  take(limit: number): Promise<readonly T[] | null>
  /** Returns events that were taken last, but not delivered. */
  putBack(events: readonly T[]): void
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
  /** How many of these were taken. */
  let taken = 0
  let ended = false
  const revoke = () => {
    end().catch(() => undefined)
    context.revoked()
  }

  let leave = () => {}
  let isValid = stillAuthorized
  try {
    const { openSubscriptions } = context.services
    const subscription = { tokenId: viewer.tokenId, connection, stillAuthorized, end: revoke }
    ;({ leave, stillAuthorized: isValid } = openSubscriptions.open(subscription))
  } catch (error) {
    source.return?.()?.catch(() => undefined)
    throw error
  }

  async function end(): Promise<void> {
    ended = true
    waiting = []
    taken = 0
    leave()
    await source.return?.()
  }

  async function take(limit: number): Promise<readonly T[] | null> {
    try {
      if (taken === waiting.length) {
        const result = await readFor(readerOf(context), () => source.next())
        if (result.done || ended) {
          leave()
          return null
        }
        waiting = result.value
        taken = 0
      }
      if (!(await isValid())) {
        await end()
        context.revoked()
        return null
      }
      const some = waiting.slice(taken, taken + limit)
      taken += some.length
      return some
    } catch (thrown) {
      await end()
      throw presentThrown(thrown, context)
    }
  }

  return {
    take,
    putBack: (events) => void (taken -= ended ? 0 : events.length),
    get ended() {
      return ended
    },
    end,
    async *[Symbol.asyncIterator]() {
      for (let events = await take(1); events; events = await take(1)) {
        renew(context)
        yield* events
      }
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
  const { db, bus, prisma, closing } = services
  if (after) await assertCursorKept(context.db, after, bus)
  const wanted = { ...(await visibleEvents({ viewer, prisma }, filter)), types }
  const events = followEvents({ db, bus, closing, after, filter: wanted })
  return authorizedEvents(context, events as AsyncIterableIterator<readonly Event[]>)
}

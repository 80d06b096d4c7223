import { readFor } from '../../services/consistent-reads.ts'
import { type GraphQLContext, readerOf, renew } from '../context.ts'
import { presentThrown } from '../error-presentation.ts'
import type { OutboxEvent } from '../../domain/events.ts'
import { followEvents } from '../../events/follow-events.ts'
import { assertCursorKept } from '../../events/kept-cursor.ts'
import { eventCursorOf, type EventFilterInput, visibleEvents } from '../../services/event/visible-events.ts'

/** The events of a subscription, bound to its token. */
export interface AuthorizedEvents<T> extends AsyncIterable<T> {
  /**
   * The next events, of which there is at least one, and at most so many; null after the last. Everything that was
   * loaded for earlier ones is then forgotten.
   */
  take(limit: number): Promise<readonly T[] | null>
  /** Whether nothing may be delivered any more, not even what has been taken. */
  readonly ended: boolean
  end(): Promise<void>
}

/**
 * Binds a subscription's source to its token: it counts as open until it ends, and it ends when the token is no longer
 * valid. Before events are taken, the token is checked again. A fault of the source or of the check ends it with an
 * error that clients can act on: such faults pass by the executor, which reports what they throw as it is.
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

/** Events of these types for one subscriber, within its project, from a cursor or from now on. @throws RepriseError */
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

import type { OutboxEvent } from '../../domain/events.ts'
import { followEvents } from '../../events/follow-events.ts'
import { assertCursorKept } from '../../events/past-events.ts'
import { eventCursorOf, type EventFilterInput, visibleEvents } from '../../services/event/visible-events.ts'
import type { GraphQLContext } from '../context.ts'
import { authorizedEvents, type AuthorizedEvents } from '../subscriptions/authorized-events.ts'

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

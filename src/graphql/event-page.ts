import { encodeCursor, type OutboxEvent } from '../domain/events.ts'
import { COUNTED_ROWS_MAX, PAGE_SCANNED_EVENTS_MAX } from '../domain/limits.ts'
import { assertCursorKept, countEventsOnPages, readEventPage } from '../events/past-events.ts'
import { eventCursorOf, type EventFilterInput, visibleEvents } from '../services/event.ts'
import { type Page, type PageArguments, pageSize } from '../services/paging.ts'
import type { GraphQLContext } from './context.ts'

const LOOKED_AT = PAGE_SCANNED_EVENTS_MAX.toLocaleString('en')

/** Describes the pages below, whose events this subscription sends as well. */
export function eventPageWords(subscription: string): string {
  return `\`last\` gives the newest page. Pages and subscription share their cursors: with \`endCursor\` of the newest page as \`after\`, \`${subscription}\` continues without a gap. A page and its count examine at most ${LOOKED_AT} events, including those that do not match. A page may therefore end early, even without any event; \`pageInfo\` then has the cursor to continue from.`
}

/**
 * Reads a page of past events of these types that the viewer may see, oldest first.
 * @throws RepriseError for a cursor that is invalid or has expired
 */
export async function eventPage<Event extends OutboxEvent>(
  context: GraphQLContext,
  asked: { filter: EventFilterInput; types: ReadonlySet<Event['type']>; args: PageArguments },
): Promise<Page<Event>> {
  const { db, viewer, services } = context
  const { args, types } = asked
  const { size, backward } = pageSize(args)
  const [after, before] = [eventCursorOf(args.after), eventCursorOf(args.before, 'before')]
  if (after) await assertCursorKept(db, after)
  const filter = { ...(await visibleEvents({ viewer, prisma: services.prisma }, asked.filter)), types }
  const { events, more, through, end } = await readEventPage(db, { filter, after, before, backward, size })
  const edges = (events as Event[]).map((node) => ({ cursor: encodeCursor(node.cursor), node }))
  const [start, stop] = backward ? [through, null] : [null, through]
  // An empty page at the end still has a cursor to continue from.
  const last = stop ?? (edges.length === 0 && before === undefined && (backward || !more) ? end : null)
  let counted: ReturnType<typeof countEventsOnPages> | undefined
  const count = () => (counted ??= countEventsOnPages(db, filter))
  return {
    edges,
    pageInfo: {
      hasNextPage: backward ? before !== undefined : more,
      hasPreviousPage: backward ? more : after !== undefined,
      startCursor: start ? encodeCursor(start) : (edges.at(0)?.cursor ?? null),
      endCursor: last ? encodeCursor(last) : (edges.at(-1)?.cursor ?? null),
    },
    totalCount: async () => Math.min((await count()).count, COUNTED_ROWS_MAX),
    totalCountIsExact: async () => {
      const { count: found, isExact } = await count()
      return isExact && found <= COUNTED_ROWS_MAX
    },
  }
}

import { encodeCursor } from '../../../domain/event-cursor.ts'
import { SESSION_EVENT_TYPES, type SessionOutboxEvent } from '../../../domain/events.ts'
import { COUNTED_ROWS_MAX, PAGE_SCANNED_EVENTS_MAX } from '../../../domain/limits.ts'
import { assertCursorKept } from '../../../events/kept-cursor.ts'
import { countEventsOnPages, readEventPage } from '../../../events/read-event-page.ts'
import { pageSize } from '../../../services/paging/page-arguments.ts'
import { builder } from '../../builder.ts'
import { SEARCH_COST } from '../../limits/limits.ts'
import { pageComplexity } from '../../paging.ts'
import { eventCursorOf, visibleEvents } from '../../../services/event/visible-events.ts'
import { SessionEventFilter } from '../session/session-event.filter.ts'
import { SessionEventObject, sessionWireName } from '../session/session-event.type.ts'

const LOOKED_AT = PAGE_SCANNED_EVENTS_MAX.toLocaleString('en')

builder.queryField('events', (t) =>
  t.connection(
    {
      type: SessionEventObject,
      description: `Events of sessions that have happened, as \`sessionEvents\` sends them, oldest first: \`last\` is the newest page. Cursors are those of the events, for both: behind \`endCursor\` of the newest page, \`sessionEvents\` goes on without a gap. A page, and its count, look at ${LOOKED_AT} events at most, whether they match or not: if fewer were found by then, even none, the page ends there and \`pageInfo\` says from where to go on.`,
      args: { filter: t.arg({ type: SessionEventFilter, description: 'Which events.' }) },
      // It may look at as many rows as a search.
      complexity: (args) => ({ ...pageComplexity(args), field: SEARCH_COST }),
      resolve: async (_root, { filter, ...args }, context) => {
        const { db } = context
        const { size, backward } = pageSize(args)
        const [after, before] = [eventCursorOf(args.after), eventCursorOf(args.before, 'before')]
        if (after) await assertCursorKept(db, after)
        const wanted = {
          ...(await visibleEvents({ viewer: context.viewer, prisma: context.services.prisma }, filter ?? {})),
          types: new Set(filter?.types?.map(sessionWireName) ?? SESSION_EVENT_TYPES),
        }
        const { events, more, through, end } = await readEventPage(db, {
          filter: wanted,
          after,
          before,
          backward,
          size,
        })
        const edges = (events as SessionOutboxEvent[]).map((node) => ({ cursor: encodeCursor(node.cursor), node }))
        const [start, stop] = backward ? [through, null] : [null, through]
        // An empty page at the end still says from where events go on.
        const last = stop ?? (edges.length === 0 && before === undefined && (backward || !more) ? end : null)
        let counted: ReturnType<typeof countEventsOnPages> | undefined
        const count = () => (counted ??= countEventsOnPages(db, wanted))
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
      },
    },
    { name: 'SessionEventConnection', description: 'A page of events.' },
    { name: 'SessionEventEdge', description: 'One event and its place.' },
  ),
)

import { encodeCursor, SESSION_EVENT_TYPES, type SessionOutboxEvent } from '../../domain/events.ts'
import { CHANGES_EVERY_MS, COUNTED_ROWS_MAX, FILTER_LIST_MAX, PAGE_SCANNED_EVENTS_MAX } from '../../domain/limits.ts'
import { followChanges } from '../../events/follow-changes.ts'
import { assertCursorKept, countEventsOnPages, readEventPage } from '../../events/past-events.ts'
import { eventCursorOf, readEventCursor, readNow, visibleEvents } from '../../services/event.ts'
import { argumentError } from '../../services/input/parse-input.ts'
import { pageSize } from '../../services/paging.ts'
import { builder } from '../builder.ts'
import { authorizedEvents, eventStream } from '../execution/authorized-events.ts'
import { SEARCH_COST } from '../limits/limits.ts'
import { pageComplexity } from '../paging.ts'
import { ChangeBatchType, SessionEventFilter, SessionEventObject, sessionWireName } from './event.types.ts'

const LOOKED_AT = PAGE_SCANNED_EVENTS_MAX.toLocaleString('en')

builder.queryField('events', (t) =>
  t.connection(
    {
      type: SessionEventObject,
      description: `Events of sessions that have happened, as \`sessionEvents\` sends them, oldest first: \`last\` is the newest page. Cursors are those of the events, for both: behind \`endCursor\` of the newest page, \`sessionEvents\` goes on without a gap. A page, and its count, look at ${LOOKED_AT} events at most, whether they match or not: if fewer were found by then, even none, the page ends there and \`pageInfo\` says from where to go on.`,
      args: { filter: t.arg({ type: SessionEventFilter, description: 'Which events.' }) },
      // It may look at as many rows as a search does.
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
        // An empty page at the end still has a cursor from which to go on.
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

builder.subscriptionField('sessionEvents', (t) =>
  t.field({
    type: SessionEventObject,
    description:
      "Events of sessions, including retries. With the cursor of the client's last event as `after`, everything since then comes first, and nothing is missed.",
    args: {
      filter: t.arg({ type: SessionEventFilter, description: 'Which events.' }),
      after: t.arg.string({ description: "Cursor of the client's last event." }),
    },
    subscribe: (_root, { filter, after }, context) =>
      eventStream<SessionOutboxEvent>(context, {
        filter: filter ?? {},
        types: new Set(filter?.types?.map(sessionWireName) ?? SESSION_EVENT_TYPES),
        after,
      }),
    resolve: (event) => event,
  }),
)

builder.queryField('eventCursor', (t) =>
  t.string({
    description:
      'The end of the events at the moment at which the other fields of the query are read. A subscription with it as `after` misses nothing that is not in them, however late it starts.',
    resolve: (_root, _args, context) => readEventCursor(context),
  }),
)

builder.queryField('now', (t) =>
  t.field({
    type: 'DateTime',
    description: "The time by the database's clock, which all other times are by: for countdowns, whatever yours says.",
    resolve: (_root, _args, context) => readNow(context),
  }),
)

const ChangeFilter = builder.inputType('ChangeFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name. Agents are of all projects.' }),
    chainIds: t.field({
      type: ['UUID'],
      description: `In these chains, at most ${FILTER_LIST_MAX}: their sessions, and nothing else.`,
    }),
  }),
})

const { default: EVERY_MS, min: EVERY_MS_MIN, max: EVERY_MS_MAX } = CHANGES_EVERY_MS

builder.subscriptionField('changes', (t) =>
  t.field({
    type: ChangeBatchType,
    description:
      'The ids of what changes, gathered: one message as soon as something has changed, and the next not before `everyMs` later. With the `cursor` of the last message, or `eventCursor`, as `after`, everything since then comes first, and the first message names all agents and recent resubmissions.',
    args: {
      filter: t.arg({ type: ChangeFilter, description: 'Which changes.' }),
      after: t.arg.string({ description: "Cursor of the client's last batch." }),
      everyMs: t.arg.int({
        description: `Milliseconds between messages, ${EVERY_MS_MIN} to ${EVERY_MS_MAX}; ${EVERY_MS} if missing.`,
      }),
    },
    subscribe: async (_root, { filter, after, everyMs }, context) => {
      const everyOrDefault = everyMs ?? EVERY_MS
      if (everyOrDefault < EVERY_MS_MIN || everyOrDefault > EVERY_MS_MAX)
        throw argumentError(
          'everyMs',
          `\`everyMs\` is ${everyOrDefault}; it may be ${EVERY_MS_MIN} to ${EVERY_MS_MAX}.`,
        )
      const wanted = await visibleEvents({ viewer: context.viewer, prisma: context.services.prisma }, filter ?? {})
      const { db, bus, changeDetector, closing } = context.services
      const changes = followChanges({
        db,
        bus,
        changeDetector: wanted.chainIds ? undefined : changeDetector,
        filter: wanted,
        after: eventCursorOf(after),
        everyMs: everyOrDefault,
        closing,
      })
      return authorizedEvents(context, changes)
    },
    resolve: (batch) => batch,
  }),
)

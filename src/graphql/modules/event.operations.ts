import { SESSION_EVENT_TYPES, type SessionOutboxEvent } from '../../domain/events.ts'
import { CHANGES_EVERY_MS, FILTER_LIST_MAX } from '../../domain/limits.ts'
import { followChanges } from '../../events/follow-changes.ts'
import { eventCursorOf, readEventCursor, readNow, visibleEvents } from '../../services/event.ts'
import { argumentError } from '../../services/input/parse-input.ts'
import { builder } from '../builder.ts'
import { authorizedEvents, eventStream } from '../execution/authorized-events.ts'
import { SEARCH_COST } from '../limits/limits.ts'
import { eventPage, eventPageWords } from '../event-page.ts'
import { pageComplexity } from '../paging.ts'
import { ChangeBatchType, SessionEventFilter, SessionEventObject, sessionWireName } from './event.types.ts'

builder.queryField('events', (t) =>
  t.connection(
    {
      type: SessionEventObject,
      description: `Past events of sessions, the same as \`sessionEvents\` sends, oldest first. ${eventPageWords('sessionEvents')}`,
      args: { filter: t.arg({ type: SessionEventFilter, description: 'Only events that match.' }) },
      // A page may read as many rows as a search does.
      complexity: (args) => ({ ...pageComplexity(args), field: SEARCH_COST }),
      resolve: async (_root, { filter, ...args }, context) => {
        const types = new Set(filter?.types?.map(sessionWireName) ?? SESSION_EVENT_TYPES)
        return eventPage<SessionOutboxEvent>(context, { filter: filter ?? {}, types, args })
      },
    },
    { name: 'SessionEventConnection', description: 'A page of events.' },
    { name: 'SessionEventEdge', description: 'One event with its cursor.' },
  ),
)

builder.subscriptionField('sessionEvents', (t) =>
  t.field({
    type: SessionEventObject,
    description:
      "Events of sessions, including retries. With the cursor of the client's last event as `after`, all events since then come first, so none is missed.",
    args: {
      filter: t.arg({ type: SessionEventFilter, description: 'Only events that match.' }),
      after: t.arg.string({ description: 'Cursor of the last event that the client has received.' }),
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
      'Cursor of the end of the event stream at the moment at which the other fields of this query are read. A subscription with this cursor as `after` sends every event that these fields do not show yet, however late it starts.',
    resolve: (_root, _args, context) => readEventCursor(context),
  }),
)

builder.queryField('now', (t) =>
  t.field({
    type: 'DateTime',
    description:
      "The time of the database's clock, which all other times come from. Use it for countdowns, because your clock may differ.",
    resolve: (_root, _args, context) => readNow(context),
  }),
)

const ChangeFilter = builder.inputType('ChangeFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name. Agents are always included.' }),
    chainIds: t.field({
      type: ['UUID'],
      description: `In these chains, at most ${FILTER_LIST_MAX}: only changes of these chains and their sessions.`,
    }),
  }),
})

const { default: EVERY_MS, min: EVERY_MS_MIN, max: EVERY_MS_MAX } = CHANGES_EVERY_MS

builder.subscriptionField('changes', (t) =>
  t.field({
    type: ChangeBatchType,
    description:
      'The ids of objects that change, collected into batches. A batch is sent as soon as something has changed, and the next one `everyMs` later at the earliest. With the `cursor` of the last batch, or with `eventCursor`, as `after`, all changes since then come first; the first batch then names all agents and recent actions on many sessions.',
    args: {
      filter: t.arg({ type: ChangeFilter, description: 'Only changes that match.' }),
      after: t.arg.string({ description: 'Cursor of the last batch that the client has received.' }),
      everyMs: t.arg.int({
        description: `Milliseconds between batches, ${EVERY_MS_MIN} to ${EVERY_MS_MAX}; ${EVERY_MS} if missing.`,
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
        changeDetector,
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

import { SESSION_EVENT_TYPES, type SessionOutboxEvent } from '../../../domain/events.ts'
import { builder } from '../../builder.ts'
import { eventStream } from '../../execution/authorized-events.ts'
import { SessionEventFilter } from './session-event.filter.ts'
import { SessionEventObject, sessionWireName } from './session-event.type.ts'

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

import { SESSION_EVENT_TYPES, type SessionOutboxEvent } from '../../../domain/events.ts'
import { FILTER_LIST_MAX } from '../../../domain/limits.ts'
import { builder } from '../../builder.ts'
import { eventStream } from '../event-stream.ts'
import { SessionEventObject, SessionEventTypeEnum, wireName } from './session-event.type.ts'

const SessionEventFilter = builder.inputType('SessionEventFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    chainIds: t.field({ type: ['UUID'], description: `In one of these chains, at most ${FILTER_LIST_MAX}.` }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    types: t.field({ type: [SessionEventTypeEnum], description: 'With one of these values.' }),
  }),
})

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
        types: new Set(filter?.types?.map(wireName) ?? SESSION_EVENT_TYPES),
        after,
      }),
    resolve: (event) => event,
  }),
)

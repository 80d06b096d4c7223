import {
  RETRY_EVENT_TYPES,
  type RetryEventName,
  type SessionEventType,
  type SessionOutboxEvent,
} from '../../../domain/events.ts'
import { builder } from '../../builder.ts'
import { eventStream } from '../event-stream.ts'
import { RetryEventType } from './retry-event.type.ts'
import { RetryEventTypeEnum } from './retry.enums.ts'

const RetryEventFilter = builder.inputType('RetryEventFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    types: t.field({ type: [RetryEventTypeEnum], description: 'With one of these values.' }),
  }),
})

builder.subscriptionField('retryEvents', (t) =>
  t.field({
    type: RetryEventType,
    description:
      "Events of retries. With the cursor of the client's last event as `after`, everything since then comes first, and nothing is missed.",
    args: {
      filter: t.arg({ type: RetryEventFilter, description: 'Which events.' }),
      after: t.arg.string({ description: "Cursor of the client's last event." }),
    },
    subscribe: (_root, { filter, after }, context) =>
      eventStream<SessionOutboxEvent>(context, { filter: filter ?? {}, types: wireNames(filter?.types), after }),
    resolve: (event) => event,
  }),
)

function wireNames(wanted: readonly RetryEventName[] | null | undefined): ReadonlySet<SessionEventType> {
  const names = Object.entries(RETRY_EVENT_TYPES) as [SessionEventType, RetryEventName][]
  return new Set(names.filter(([, name]) => wanted?.includes(name) ?? true).map(([wireName]) => wireName))
}

import {
  RETRY_EVENT_TYPES,
  type RetryEventData,
  type RetryEventName,
  type SessionEventType,
  type SessionOutboxEvent,
} from '../../../domain/events.ts'
import { builder } from '../../builder.ts'
import { eventStream } from '../../execution/authorized-events.ts'
import { FailureCauseEnum, RetryEventTypeEnum } from './retry.enums.ts'
import { encodeCursor } from '../../../domain/event-cursor.ts'
import type { FailureCause } from '../../../domain/session/causes.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { SessionNode } from '../session/session.types.ts'

const dataOf = (event: SessionOutboxEvent) => event.data as RetryEventData

const RetryEventType = builder.objectRef<SessionOutboxEvent>('RetryEvent').implement({
  description: 'Something happened to a retry. At least once, in order within a chain.',
  fields: (t) => ({
    cursor: t.string({ description: 'Its cursor, for `after`.', resolve: ({ cursor }) => encodeCursor(cursor) }),
    type: t.field({
      type: RetryEventTypeEnum,
      description: 'What happened.',
      resolve: ({ type }) => RETRY_EVENT_TYPES[type as keyof typeof RETRY_EVENT_TYPES],
    }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened.' }),
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'The attempt that it is about.' }),
    session: t.field({
      type: SessionNode,
      description: 'The attempt that it is about, as it is now.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    chainId: t.expose('chainId', { type: 'UUID', description: 'Its chain.' }),
    attempt: t.int({ description: '1-based within the budget.', resolve: (event) => dataOf(event).attempt }),
    maxAttempts: t.int({ description: 'How many the budget allows.', resolve: (event) => dataOf(event).maxAttempts }),
    cause: t.field({
      type: FailureCauseEnum,
      nullable: true,
      description: 'Why the attempt failed.',
      resolve: (event) => dataOf(event).cause as FailureCause | null,
    }),
    delaySeconds: t.float({
      nullable: true,
      description: 'How long the retry waits.',
      resolve: (event) => dataOf(event).delaySeconds,
    }),
    scheduledAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the retry is due.',
      resolve: (event) => moment(dataOf(event).scheduledAt),
    }),
    childSessionId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'The retry, once it is dispatched.',
      resolve: (event) => dataOf(event).childSessionId,
    }),
    reason: t.string({ nullable: true, description: 'Why, in words.', resolve: (event) => dataOf(event).reason }),
  }),
})

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

function moment(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}

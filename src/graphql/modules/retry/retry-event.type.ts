import { encodeCursor } from '../../../domain/event-cursor.ts'
import { RETRY_EVENT_TYPES, type RetryEventData, type SessionOutboxEvent } from '../../../domain/events.ts'
import type { FailureCause } from '../../../domain/session/causes.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../session-reads/load-session.ts'
import { SessionNode } from '../session/session.type.ts'
import { FailureCauseEnum, RetryEventTypeEnum } from './retry.enums.ts'

const dataOf = (event: SessionOutboxEvent) => event.data as RetryEventData

export const RetryEventType = builder.objectRef<SessionOutboxEvent>('RetryEvent').implement({
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

function moment(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}

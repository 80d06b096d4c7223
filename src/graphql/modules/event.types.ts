import {
  type ChainEventData,
  encodeCursor,
  RETRY_EVENT_TYPES,
  SESSION_EVENT_TYPES,
  type SessionEventType,
  type SessionOutboxEvent,
  type StatusEventData,
} from '../../domain/events.ts'
import { CHANGED_IDS_MAX, FILTER_LIST_MAX } from '../../domain/limits.ts'
import type { FailureCause } from '../../domain/session/failure.ts'
import type { SessionStatus } from '../../domain/session/lifecycle.ts'
import type { ChangeBatch } from '../../events/follow-changes.ts'
import type { Session } from '../../generated/prisma/client.ts'
import { builder } from '../builder.ts'
import type { GraphQLContext } from '../context.ts'
import { loadExistingSession } from '../loaders/load-session.ts'
import { LabelFilter } from './filters.inputs.ts'
import { FailureCauseEnum, RetryEventTypeEnum } from './retry/retry.enums.ts'
import { SessionNode, SessionStatusEnum } from './session/session.types.ts'

const SessionEventTypeEnum = builder.enumType('SessionEventType', {
  description: "Type of a session event: the event's name in upper case, without `session.`.",
  values: {
    CREATED: { description: 'It was created.' },
    STATUS_CHANGED: { description: 'Its status changed to one that is not final.' },
    TERMINATED: { description: 'It ended: it succeeded, or a person terminated it.' },
    ERROR: { description: 'It ended: it failed.' },
    CANCELLED: { description: 'It ended before it started.' },
    RETRY_SCHEDULED: { description: 'It failed; a retry is waiting for its delay to pass.' },
    RETRY_HELD: { description: 'Its retry is due but held.' },
    RETRY_DISPATCHED: { description: 'Its child session was created.' },
    RETRY_SUCCEEDED: { description: 'It is a retry, and it succeeded.' },
    RETRY_EXHAUSTED: { description: 'It failed, and was the last retry.' },
    RETRY_CANCELLED: { description: 'A person cancelled its retry.' },
    CHECKPOINT_MISSING: { description: 'It started without the checkpoint of an earlier attempt.' },
    OUTPUTS_COMPLETE: {
      description: 'Its outputs are settled: they have arrived, or none will. `session.outputs` says which.',
    },
    CHAIN_SUCCEEDED: { description: 'It succeeded, and its chain with it.' },
    CHAIN_FAILED: { description: 'It failed, and no automatic attempt will follow. Sent once for each epoch.' },
    CHAIN_CANCELLED: { description: 'A person ended it, and its chain with it, before it had a result.' },
    CHAIN_REOPENED: {
      description: 'It is the first attempt of a new epoch: its chain was resubmitted. `reason` names the person.',
    },
    FAILURE_GROUP_NEW: {
      description: 'It failed in a way that is new in its project: `session.failureGroup`. `reason` is its title.',
    },
    FAILURE_GROUP_REGRESSED: {
      description: 'It failed in a way that was resolved: `session.failureGroup`. `reason` is its title.',
    },
  } as const,
})

type SessionEventName = typeof SessionEventTypeEnum.$inferType

function sessionEventName(type: SessionEventType): SessionEventName {
  return type
    .replace(/^session\./, '')
    .replace('.', '_')
    .toUpperCase() as SessionEventName
}

export function sessionWireName(name: SessionEventName): SessionEventType {
  return SESSION_EVENT_TYPES.find((type) => sessionEventName(type) === name)!
}

const dataOf = (event: SessionOutboxEvent) => event.data as Partial<StatusEventData>

const ChainEnd = builder.objectRef<ChainEventData>('ChainEnd').implement({
  description: 'How a chain ended.',
  fields: (t) => ({
    epoch: t.exposeInt('epoch', { description: 'The epoch that ended.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts, in all epochs.' }),
    cause: t.field({
      type: FailureCauseEnum,
      nullable: true,
      description: 'Why the last attempt failed; null if it did not fail.',
      resolve: ({ cause }) => (cause ?? null) as FailureCause | null,
    }),
    runningSeconds: t.float({
      description: 'Time in which the program ran, in all attempts.',
      resolve: (end) => end.runningSeconds ?? 0,
    }),
    waitingSeconds: t.float({
      description: 'Time in which no program ran, from the creation of the chain to its end.',
      resolve: (end) => end.waitingSeconds ?? 0,
    }),
  }),
})

/** The columns of a session that events about a status show. */
const ATTEMPT = { select: { retryCount: true, maxRetries: true, failureCause: true }, selectKey: 'event attempt' }

/** Events about a retry have these values as they were; for other events they follow from the session. */
const retryOf = ({ data }: SessionOutboxEvent) => ('maxAttempts' in data ? data : null)

async function attemptOf({ sessionId }: SessionOutboxEvent, { loaders }: GraphQLContext): Promise<Session | null> {
  return (await loaders.sessions.load({ by: 'id', value: sessionId, ...ATTEMPT })).at(0) ?? null
}

const ENDS: readonly SessionEventType[] = ['session.terminated', 'session.error', 'session.cancelled']

async function causeOf(event: SessionOutboxEvent, context: GraphQLContext): Promise<FailureCause | null> {
  if ('cause' in event.data) return (event.data.cause ?? null) as FailureCause | null
  return ENDS.includes(event.type) ? ((await attemptOf(event, context))?.failureCause ?? null) : null
}

const EventInterface = builder.interfaceRef<SessionOutboxEvent>('Event').implement({
  description: 'An event of a session, its retry or its chain. Delivered at least once, in order within a chain.',
  resolveType: () => 'SessionEvent',
  fields: (t) => ({
    cursor: t.string({ description: 'Its cursor: pass it as `after`.', resolve: ({ cursor }) => encodeCursor(cursor) }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened.' }),
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'The session, one attempt, that it is about.' }),
    session: t.field({
      type: SessionNode,
      description: 'The session that it is about, as it is now.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    chainId: t.expose('chainId', { type: 'UUID', description: 'Its chain.' }),
    attempt: t.int({
      nullable: true,
      description:
        '1-based within the budget, as in `RetryState`; `session` has the position in the chain. Null if the session no longer exists.',
      resolve: async (event, _args, context) => {
        const retry = retryOf(event)
        if (retry) return retry.attempt
        const session = await attemptOf(event, context)
        return session && session.retryCount + 1
      },
    }),
    maxAttempts: t.int({
      nullable: true,
      description: 'Number of attempts that the budget allows. Null if the session no longer exists.',
      resolve: async (event, _args, context) => {
        const retry = retryOf(event)
        if (retry) return retry.maxAttempts
        const session = await attemptOf(event, context)
        return session && session.maxRetries + 1
      },
    }),
    cause: t.field({
      type: FailureCauseEnum,
      nullable: true,
      description:
        'Why the attempt failed, if the event is about its end, its retry or the end of its chain. Null if it did not fail, or is not classified yet.',
      resolve: (event, _args, context) => causeOf(event, context),
    }),
    delaySeconds: t.float({
      nullable: true,
      description: 'The delay of the retry, if the event is about one.',
      resolve: (event) => retryOf(event)?.delaySeconds ?? null,
    }),
    dueAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the retry is or was due, if the event is about one.',
      resolve: (event) => retryDueAt(event),
    }),
    childSessionId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'The retry, once it is dispatched.',
      resolve: (event) => retryOf(event)?.childSessionId ?? null,
    }),
    reason: t.string({
      nullable: true,
      description: 'The reason, in words.',
      resolve: ({ data }) => ('reason' in data ? data.reason : null) ?? null,
    }),
  }),
})

function retryDueAt(event: SessionOutboxEvent): Date | null {
  const text = retryOf(event)?.scheduledAt ?? null
  return text === null ? null : new Date(text)
}

export const RetryEventType = builder.objectRef<SessionOutboxEvent>('RetryEvent').implement({
  description: 'An event of a retry. Delivered at least once, in order within a chain.',
  interfaces: [EventInterface],
  fields: (t) => ({
    type: t.field({
      type: RetryEventTypeEnum,
      description: 'The type of the event.',
      resolve: ({ type }) => RETRY_EVENT_TYPES[type as keyof typeof RETRY_EVENT_TYPES],
    }),
    attempt: t.int({ description: '1-based within the budget.', resolve: (event) => retryOf(event)!.attempt }),
    maxAttempts: t.int({
      description: 'Number of attempts that the budget allows.',
      resolve: (event) => retryOf(event)!.maxAttempts,
    }),
    scheduledAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the retry is or was due.',
      deprecationReason: 'Use `dueAt`.',
      resolve: retryDueAt,
    }),
  }),
})

export const SessionEventObject = builder.objectRef<SessionOutboxEvent>('SessionEvent').implement({
  description: 'An event of a session or its chain. Delivered at least once, in order within a chain.',
  interfaces: [EventInterface],
  fields: (t) => ({
    type: t.field({
      type: SessionEventTypeEnum,
      description: 'The type of the event.',
      resolve: ({ type }) => sessionEventName(type),
    }),
    fromStatus: t.field({
      type: SessionStatusEnum,
      nullable: true,
      description: 'The previous status, if the event is about a status.',
      resolve: (event) => (dataOf(event).from ?? null) as SessionStatus | null,
    }),
    toStatus: t.field({
      type: SessionStatusEnum,
      nullable: true,
      description: 'The new status, if the event is about a status.',
      resolve: (event) => (dataOf(event).to ?? null) as SessionStatus | null,
    }),
    chainEnd: t.field({
      type: ChainEnd,
      nullable: true,
      description: 'How the chain ended. Given with CHAIN_SUCCEEDED, CHAIN_FAILED and CHAIN_CANCELLED.',
      resolve: ({ data }) => ('runningSeconds' in data ? data : null),
    }),
  }),
})

export const SessionEventFilter = builder.inputType('SessionEventFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    chainIds: t.field({ type: ['UUID'], description: `In one of these chains, at most ${FILTER_LIST_MAX}.` }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    types: t.field({ type: [SessionEventTypeEnum], description: 'Of one of these types.' }),
    labels: t.field({ type: [LabelFilter], description: 'Filter by labels of the chain. All must match.' }),
  }),
})

export const ChangeBatchType = builder.objectRef<ChangeBatch>('ChangeBatch').implement({
  description: `A batch of changes: the ids of objects that have changed since the batch before, at most ${CHANGED_IDS_MAX} of each kind.`,
  fields: (t) => ({
    cursor: t.string({
      description: 'Its cursor: pass it as `after`. Everything before it has been sent.',
      resolve: ({ cursor }) => encodeCursor(cursor),
    }),
    chainIds: t.expose('chainIds', { type: ['UUID'], description: 'Chains with an attempt or retry that changed.' }),
    sessionIds: t.expose('sessionIds', {
      type: ['UUID'],
      description: 'Sessions that changed, or whose retry changed.',
    }),
    agentIds: t.expose('agentIds', {
      type: ['UUID'],
      description: 'Agents whose status or use changed.',
    }),
    groupIds: t.expose('groupIds', { type: ['UUID'], description: 'Groups of sessions that have ended.' }),
    deploymentIds: t.expose('deploymentIds', {
      type: ['UUID'],
      description: 'Deployments that changed, or whose routes changed.',
    }),
    bulkActionIds: t.expose('resubmissionIds', {
      type: ['UUID'],
      description: 'Actions on many sessions that are new, made progress, or ended.',
    }),
    missed: t.exposeBoolean('missed', {
      description:
        'True if more objects changed than are named here, or if the cursor had expired: read all displayed data again.',
    }),
  }),
})

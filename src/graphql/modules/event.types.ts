import {
  type ChainEventData,
  encodeCursor,
  SESSION_EVENT_TYPES,
  type SessionEventType,
  type SessionOutboxEvent,
  type StatusEventData,
} from '../../domain/events.ts'
import { CHANGED_IDS_MAX, FILTER_LIST_MAX } from '../../domain/limits.ts'
import type { FailureCause } from '../../domain/session/failure.ts'
import type { SessionStatus } from '../../domain/session/lifecycle.ts'
import type { ChangeBatch } from '../../events/follow-changes.ts'
import { builder } from '../builder.ts'
import { loadExistingSession } from '../loaders/load-session.ts'
import { LabelFilter } from './filters.inputs.ts'
import { FailureCauseEnum } from './retry/retry.enums.ts'
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

export const SessionEventObject = builder.objectRef<SessionOutboxEvent>('SessionEvent').implement({
  description: 'An event of a session or its chain. Delivered at least once, in order within a chain.',
  fields: (t) => ({
    cursor: t.string({ description: 'Its cursor: pass it as `after`.', resolve: ({ cursor }) => encodeCursor(cursor) }),
    type: t.field({
      type: SessionEventTypeEnum,
      description: 'The type of the event.',
      resolve: ({ type }) => sessionEventName(type),
    }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened.' }),
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'The session that it is about.' }),
    session: t.field({
      type: SessionNode,
      description: 'The session that it is about, as it is now.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    chainId: t.expose('chainId', { type: 'UUID', description: 'Its chain.' }),
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
    reason: t.string({
      nullable: true,
      description: 'The reason, in words.',
      resolve: (event) => dataOf(event).reason ?? null,
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
    deploymentIds: t.expose('deploymentIds', {
      type: ['UUID'],
      description: 'Deployments that changed, or whose routes changed.',
    }),
    resubmissionIds: t.expose('resubmissionIds', {
      type: ['UUID'],
      description: 'Resubmissions that are new, made progress, or ended.',
    }),
    missed: t.exposeBoolean('missed', {
      description:
        'True if more objects changed than are named here, or if the cursor had expired: read all displayed data again.',
    }),
  }),
})

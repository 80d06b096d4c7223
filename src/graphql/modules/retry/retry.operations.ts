import {
  RETRY_EVENT_TYPES,
  type RetryEventName,
  type SessionEventType,
  type SessionOutboxEvent,
} from '../../../domain/events.ts'
import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import type { RetryPhase } from '../../../domain/session/failure.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import { withoutNulls } from '../../../services/input/parse-input.ts'
import { keysetPage, type OrderColumn } from '../../../services/paging.ts'
import { cancelRetry, retryNow, updateRetry } from '../../../services/retry/change-retry.ts'
import { builder } from '../../builder.ts'
import { eventStream } from '../../execution/authorized-events.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { RetryEventType } from '../event.types.ts'
import { ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error.types.ts'
import { DateTimeFilter, LabelFilter, OrderDirection } from '../filters.inputs.ts'
import { mutation, repeatableFields } from '../mutation.ts'
import { sessionPayload } from '../session/session.operations.ts'
import { GPUS_CHANGE, GpusInput } from '../session/gpus.types.ts'
import { ResourceSlotInput } from '../session/values.types.ts'
import { RetryPolicyInput } from './retry-policy.types.ts'
import { FailureCauseEnum, HoldReasonEnum, RetryEventTypeEnum, RetryPhaseEnum } from './retry.enums.ts'
import { RetryDecisionNode } from './retry.types.ts'

const RetryDecisionFilter = builder.inputType('RetryDecisionFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    phase: t.field({ type: [RetryPhaseEnum], description: 'In one of these phases.' }),
    cause: t.field({ type: [FailureCauseEnum], description: 'Failed for one of these causes.' }),
    timedOut: t.boolean({ description: 'Whether the session was ended by its batch timeout.' }),
    holdReason: t.field({ type: [HoldReasonEnum], description: 'Held for one of these reasons.' }),
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    decidedAt: t.field({ type: DateTimeFilter, description: 'Filter by the time of the decision.' }),
    dueAt: t.field({ type: DateTimeFilter, description: 'Filter by the time when the retry is due.' }),
  }),
})

const RetryDecisionOrderField = builder.enumType('RetryDecisionOrderField', {
  description: 'Fields that retry decisions can be ordered by.',
  values: {
    DECIDED_AT: { description: 'When the decision was made.' },
    DUE_AT: { description: 'When the retry is due. Decisions without a retry come last.' },
  } as const,
})

const RetryDecisionOrder = builder.inputType('RetryDecisionOrder', {
  description: 'The field to order by.',
  fields: (t) => ({
    field: t.field({ type: RetryDecisionOrderField, required: true, description: 'Field to order by.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Direction.' }),
  }),
})

type Order = typeof RetryDecisionOrder.$inferInput

const NEWEST_FIRST: Order = { field: 'DECIDED_AT', direction: 'DESC' }

/** Phases of retries that always have a due time, and for which there is the index retry_decisions_due. */
const WAITING: readonly RetryPhase[] = ['SCHEDULED', 'HELD']

/** Returns the columns to order by; for waiting retries and for decisions in the order of time, those of an index. */
function decisionOrder(
  { field, direction }: Order,
  phases: readonly RetryPhase[] | null | undefined,
): readonly OrderColumn[] {
  const to = direction === 'DESC' ? 'desc' : 'asc'
  const id: OrderColumn = { column: 'sessionId', direction: to, type: 'uuid' }
  if (field === 'DECIDED_AT') return [{ column: 'decidedAt', direction: to, type: 'date' }, id]
  const nullable = !phases?.every((phase) => WAITING.includes(phase))
  return [{ column: 'dueAt', direction: to, type: 'date', nullable }, id]
}

function decisionWhere(filter: typeof RetryDecisionFilter.$inferInput): Prisma.RetryDecisionWhereInput {
  const { phase, cause, timedOut, holdReason, project, chainId, sessionId, decidedAt, dueAt } = filter
  const session = { ...(project != null && { project: { name: project } }), ...(timedOut != null && { timedOut }) }
  return {
    ...(phase && { phase: { in: phase } }),
    ...(cause && { cause: { in: cause } }),
    ...(holdReason && { holdReason: { in: holdReason } }),
    ...((project != null || timedOut != null) && { session }),
    ...(chainId != null && { chainId }),
    ...(sessionId != null && { sessionId }),
    ...(decidedAt && { decidedAt: withoutNulls(decidedAt) }),
    ...(dueAt && { dueAt: withoutNulls(dueAt) }),
  }
}

builder.queryField('retryDecisions', (t) =>
  t.connection(
    {
      type: RetryDecisionNode,
      description: 'Retry decisions about finished sessions, newest first by default.',
      args: {
        filter: t.arg({ type: RetryDecisionFilter, description: 'Only decisions that match.' }),
        orderBy: t.arg({
          type: RetryDecisionOrder,
          description: 'Order of the list. With DUE_AT and the phases SCHEDULED and HELD, it is the retry queue.',
        }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, orderBy, ...args }, context, info) => {
        const { prisma } = context.services
        const order = decisionOrder(orderBy ?? NEWEST_FIRST, filter?.phase)
        const wanted = { AND: [projectScope(context.viewer), filter ? decisionWhere(filter) : {}] }
        const query = edgeQuery({ context, info, typeName: 'RetryDecision', order })
        return keysetPage({
          args,
          order,
          find: ({ where, ...page }) =>
            prisma.retryDecision.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.retryDecision.count({ where: wanted, take: COUNTED_ROWS_MAX + 1 }),
          countMax: COUNTED_ROWS_MAX,
        })
      },
    },
    { name: 'RetryDecisionConnection', description: 'A page of retry decisions.' },
    { name: 'RetryDecisionEdge', description: 'One decision with its cursor.' },
  ),
)

const CancelRetryInput = builder.inputType('CancelRetryInput', {
  description: 'The retry to cancel.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Id of any session of the chain.' }),
    ...repeatableFields(t),
  }),
})

const RetryNowInput = builder.inputType('RetryNowInput', {
  description: 'The retry to make due now.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Id of any session of the chain.' }),
    ...repeatableFields(t),
  }),
})

const UpdateRetryInput = builder.inputType('UpdateRetryInput', {
  description: 'A change of a waiting retry: of its policy, its resources, or both.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Id of any session of the chain.' }),
    policy: t.field({
      type: RetryPolicyInput,
      description: "Its fields replace those of the session's policy; missing fields stay as they are.",
    }),
    resourceSlots: t.field({
      type: [ResourceSlotInput],
      description:
        'Slots that the retry gets instead of those that it would have, as do the attempts after it; the amount 0 removes a slot. Other slots stay as they are.',
    }),
    gpus: t.field({ type: GpusInput, description: GPUS_CHANGE }),
    ...repeatableFields(t),
  }),
})

const UpdateRetryPayload = sessionPayload('UpdateRetryPayload', 'The session whose retry was decided again.')

const CancelRetryPayload = sessionPayload('CancelRetryPayload', 'The session whose retry was cancelled.')

const RetryNowPayload = sessionPayload('RetryNowPayload', 'The session whose retry is due now.')

mutation({
  name: 'cancelRetry',
  description:
    'Cancels the scheduled or held retry of a chain. The chain ends with the failed session, which the payload has.',
  input: CancelRetryInput,
  inputDescription: 'The retry to cancel.',
  payload: CancelRetryPayload,
  errors: [NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The session',
  repeatable: true,
  run: cancelRetry,
})

mutation({
  name: 'retryNow',
  description: 'Makes the scheduled or held retry of a chain due now. The payload has the failed session.',
  input: RetryNowInput,
  inputDescription: 'The retry to make due now.',
  payload: RetryNowPayload,
  errors: [NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The session',
  repeatable: true,
  run: retryNow,
})

mutation({
  name: 'updateRetry',
  description:
    'Changes the policy of a chain whose retry is scheduled or held, or the resources of that retry, and decides that retry again, with delays from now on. This retry and later ones follow the new policy. The new decision may also be not to retry.',
  input: UpdateRetryInput,
  inputDescription: 'The retry, and its changes.',
  payload: UpdateRetryPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The session',
  repeatable: true,
  run: updateRetry,
})

const RetryEventFilter = builder.inputType('RetryEventFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    types: t.field({ type: [RetryEventTypeEnum], description: 'With one of these values.' }),
    labels: t.field({ type: [LabelFilter], description: 'Filter by labels of the chain. All must match.' }),
  }),
})

builder.subscriptionField('retryEvents', (t) =>
  t.field({
    type: RetryEventType,
    description:
      "Events of retries. With the cursor of the client's last event as `after`, all events since then come first, so none is missed.",
    args: {
      filter: t.arg({ type: RetryEventFilter, description: 'Only events that match.' }),
      after: t.arg.string({ description: 'Cursor of the last event that the client has received.' }),
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

import { ID_PREFIX_WORDS } from '../../../services/input/input-fields.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import type { OrderColumn } from '../../../services/paging.ts'
import type { SessionFilterInput } from '../../../services/session/session-where.ts'
import { builder } from '../../builder.ts'
import { ORDER_FIELDS_MAX } from '../../limits/limits.ts'
import { DateTimeFilter, IntRange, LabelFilter, OrderDirection, StringFilter } from '../filters.inputs.ts'
import { FailureCauseEnum, HoldReasonEnum, RetryPhaseEnum } from '../retry/retry.enums.ts'
import { SessionOriginEnum, SessionResultEnum, SessionStatusEnum, SessionTypeEnum } from './session.types.ts'
import { CreateSessionInput } from './session-spec.types.ts'
import { GroupConditionEnum, GroupRestEnum } from './session-group.types.ts'
import { LabelInput } from './values.types.ts'
import { keyField } from '../mutation.ts'

const GroupDependencyInput = builder.inputType('SessionGroupDependencyInput', {
  description: 'A group of the same project to wait for.',
  fields: (t) => ({
    groupId: t.field({ type: 'UUID', required: true, description: 'Id of the group.' }),
    condition: t.field({ type: GroupConditionEnum, defaultValue: 'ALL_SUCCEEDED', description: 'What to wait for.' }),
  }),
})

const CreateSessionGroupInput = builder.inputType('CreateSessionGroupInput', {
  description: 'A group of sessions. With a `key`, the same call returns the same group.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name.' }),
    key: t.string({ description: 'Idempotency key chosen by the client, unique in the project.' }),
    open: t.boolean({ defaultValue: false, description: 'True: `addSessions` adds further members.' }),
    indexes: t.string({
      description:
        'Indexes such as `1-1000`, `0-99:10` or `1,3,5-7`, at most 10000 in one call. `sessions` has one for each, or one for all.',
    }),
    maxFailed: t.int({
      description: 'The group fails with this number of failed members. Missing: if any has failed at the end.',
    }),
    maxFailedPercent: t.float({ description: 'The same as a percentage of its members.' }),
    minSucceeded: t.int({ description: 'The group succeeds with this number of members that succeeded.' }),
    maxRunning: t.int({ description: 'At most this number of members run at the same time.' }),
    onFailure: t.field({
      type: GroupRestEnum,
      defaultValue: 'LET_RUN',
      description: 'What becomes of running members once it fails.',
    }),
    dependsOn: t.field({
      type: [GroupDependencyInput],
      description: 'Groups to wait for, at most 16: no member begins before that.',
    }),
  }),
})

export const CreateSessionsInput = builder.inputType('CreateSessionsInput', {
  description: 'Sessions to create.',
  fields: (t) => ({
    sessions: t.field({ type: [CreateSessionInput], required: true, description: 'The sessions, at most 1000.' }),
    group: t.field({
      type: CreateSessionGroupInput,
      description: 'They become the members of this group: all of them are created, or none.',
    }),
  }),
})

export const TerminateSessionInput = builder.inputType('TerminateSessionInput', {
  description: 'The session to terminate.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Id of any session of the chain.' }),
    force: t.boolean({ description: 'True: kills its kernels at once, without a grace period to clean up.' }),
    reason: t.string({ description: 'The reason, for people.' }),
    ...keyField(t),
  }),
})

const ref = builder.inputRef<SessionFilterInput>('SessionFilter')

export const SessionFilter = ref.implement({
  description: 'All given conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [SessionStatusEnum], description: 'In one of these statuses.' }),
    result: t.field({ type: [SessionResultEnum], description: 'With one of these results.' }),
    sessionType: t.field({ type: [SessionTypeEnum], description: 'Of one of these types.' }),
    project: t.string({ description: 'In the project of this name.' }),
    user: t.string({ description: 'Of the user of this name.' }),
    idPrefix: t.string({ description: ID_PREFIX_WORDS }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    group: t.field({ type: 'UUID', description: 'Members of the group with this id.' }),
    failureGroup: t.field({ type: 'UUID', description: 'Failed, in the group of failures with this id.' }),
    parentSessionId: t.field({ type: 'UUID', description: 'The attempt that follows the session with this id.' }),
    agent: t.field({ type: 'UUID', description: 'With a kernel that is or was on the agent with this id.' }),
    resourceGroup: t.string({ description: 'In the resource group of this name.' }),
    concurrencyKey: t.string({ description: 'With this concurrency key.' }),
    dependsOn: t.field({ type: 'UUID', description: 'Sessions that start only once this chain has succeeded.' }),
    retryCount: t.field({ type: IntRange, description: 'Filter by `retryCount`.' }),
    maxRetries: t.field({ type: IntRange, description: 'Filter by `maxRetries`.' }),
    attempt: t.field({ type: IntRange, description: 'Filter by `attempt`, the position in the chain.' }),
    epoch: t.field({ type: IntRange, description: 'Filter by `epoch`.' }),
    failureCause: t.field({ type: [FailureCauseEnum], description: 'Failed for one of these causes.' }),
    failureReason: t.stringList({ description: 'With one of these `failureReason`s.' }),
    timedOut: t.boolean({ description: 'Whether it was ended by its batch timeout.' }),
    exitCode: t.intList({ description: 'Ended with one of these exit codes.' }),
    statusReason: t.field({
      type: StringFilter,
      description: 'Filter by `statusReason`, the explanation of its status.',
    }),
    retryPhase: t.field({ type: [RetryPhaseEnum], description: 'With `retryState.phase` in one of these.' }),
    holdReason: t.field({ type: [HoldReasonEnum], description: 'Retry is held for one of these reasons.' }),
    origin: t.field({ type: [SessionOriginEnum], description: 'Of one of these origins.' }),
    name: t.field({ type: StringFilter, description: 'Filter by name.' }),
    label: t.field({ type: LabelInput, description: 'With this label. `labels` takes several, and other conditions.' }),
    labels: t.field({ type: [LabelFilter], description: 'Filter by labels. All must match.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'Filter by creation time.' }),
    startedAt: t.field({ type: DateTimeFilter, description: 'Filter by the time when user code started.' }),
    terminatedAt: t.field({ type: DateTimeFilter, description: 'Filter by the time of the end.' }),
    AND: t.field({ type: [ref], description: 'All of these filters match.' }),
    OR: t.field({ type: [ref], description: 'At least one of these filters matches.' }),
    NOT: t.field({ type: ref, description: 'This filter does not match.' }),
  }),
})

const SessionOrderField = builder.enumType('SessionOrderField', {
  description: 'Fields that sessions can be ordered by.',
  values: {
    CREATED_AT: { description: 'When it was created.' },
    STATUS_CHANGED_AT: { description: 'When it entered its status.' },
    NAME: { description: 'Its name, compared byte by byte.' },
    PRIORITY: { description: 'Its priority.' },
    ATTEMPT: { description: 'Its position in its chain.' },
  } as const,
})

export const SessionOrder = builder.inputType('SessionOrder', {
  description: 'One field to order by.',
  fields: (t) => ({
    field: t.field({ type: SessionOrderField, required: true, description: 'Field to order by.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Direction.' }),
  }),
})

/** Columns to order by. None of them is ever null, because cursors cannot represent NULL. */
const COLUMNS: Record<typeof SessionOrderField.$inferInput, Pick<OrderColumn, 'column' | 'type'>> = {
  CREATED_AT: { column: 'createdAt', type: 'date' },
  STATUS_CHANGED_AT: { column: 'statusChangedAt', type: 'date' },
  NAME: { column: 'name', type: 'text' },
  PRIORITY: { column: 'priority', type: 'number' },
  ATTEMPT: { column: 'attempt', type: 'number' },
}

const NEWEST_FIRST: (typeof SessionOrder.$inferInput)[] = [{ field: 'CREATED_AT', direction: 'DESC' }]

/**
 * Returns the columns to order by. The id comes last, which makes the order total. The default is the order of the
 * index sessions_created_at_id_idx.
 */
export function sessionOrder(orderBy: readonly (typeof SessionOrder.$inferInput)[] | null | undefined): OrderColumn[] {
  const wanted = orderBy?.length ? orderBy : NEWEST_FIRST
  if (wanted.length > ORDER_FIELDS_MAX) throw argumentError('orderBy', `At most ${ORDER_FIELDS_MAX} fields.`)
  const columns = wanted.map(({ field, direction }) => ({
    ...COLUMNS[field],
    direction: direction === 'DESC' ? ('desc' as const) : ('asc' as const),
  }))
  if (new Set(columns.map(({ column }) => column)).size < columns.length) {
    throw argumentError('orderBy', 'Each field at most once.')
  }
  return [...columns, { column: 'id', type: 'uuid', direction: columns.at(-1)!.direction }]
}

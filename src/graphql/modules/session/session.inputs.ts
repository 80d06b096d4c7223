import { ID_PREFIX_WORDS } from '../../../services/input/input-fields.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import type { OrderColumn } from '../../../services/paging.ts'
import type { SessionFilterInput } from '../../../services/session/session-where.ts'
import { builder } from '../../builder.ts'
import { ORDER_FIELDS_MAX } from '../../limits/limits.ts'
import { DateTimeFilter, IntRange, OrderDirection, StringFilter } from '../filters.inputs.ts'
import { RetryPolicyInput } from '../retry/retry-policy.types.ts'
import { FailureCauseEnum, RetryPhaseEnum } from '../retry/retry.enums.ts'
import {
  ClusterModeEnum,
  SessionOriginEnum,
  SessionResultEnum,
  SessionStatusEnum,
  SessionTypeEnum,
} from './session.types.ts'
import { EnvVarInput, ExecutorOptionInput, LabelInput, MountInput, ResourceSlotInput } from './values.types.ts'

export const CreateSessionInput = builder.inputType('CreateSessionInput', {
  description: 'The session to create.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name; not necessarily unique.' }),
    sessionType: t.field({ type: SessionTypeEnum, defaultValue: 'BATCH', description: 'Its type.' }),
    project: t.string({ defaultValue: 'default', description: 'Name of the project.' }),
    resourceGroup: t.string({ defaultValue: 'default', description: 'Name of the resource group to run in.' }),
    image: t.string({
      description:
        'Container image of its kernels; for agents without containers, a preset of environment and interpreter.',
    }),
    command: t.stringList({ required: true, description: 'The program and its arguments: `["sh", "-c", "exit 3"]`.' }),
    codeSha256: t.string({
      description:
        'SHA-256 of code that was uploaded for the project (`PUT /v2/code/{sha256}`). Its kernels find the files in their working directory.',
    }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Environment of its kernels, in addition to the variables set by Reprise.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description:
        'Secret variables: their values are stored encrypted, are given to kernels at their start, and cannot be read otherwise.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'Resources of each kernel.' }),
    clusterSize: t.int({ defaultValue: 1, description: 'Number of kernels.' }),
    clusterMode: t.field({ type: ClusterModeEnum, description: 'How its kernels are distributed over agents.' }),
    batchTimeout: t.float({ description: 'Batch timeout: seconds that user code may run.' }),
    maxPending: t.float({
      description:
        'Seconds that each attempt may wait in PENDING. After that it has failed with SCHEDULER_TIMEOUT (`waited-too-long`). Time before `startsAt`, and before its dependencies have succeeded, does not count.',
    }),
    startsAt: t.field({ type: 'DateTime', description: 'Earliest start time.' }),
    priority: t.int({ defaultValue: 10, description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice.' }),
    allowAgents: t.field({
      type: ['UUID'],
      description: 'Ids of the only agents that may run it and its retries; an empty list means all.',
    }),
    avoidAgents: t.field({
      type: ['UUID'],
      description: 'Ids of agents to avoid: used only if no other has free capacity.',
    }),
    excludeAgents: t.field({
      type: ['UUID'],
      description: 'Ids of agents that must not run it or its retries: it waits if no other agent is left.',
    }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run it.' }),
    executorOptions: t.field({
      type: [ExecutorOptionInput],
      description:
        "Executor options in addition to those of the resource group, such as the `partition` of a Slurm cluster. Only keys in the group's `allowedExecutorOptions` are allowed. Retries and resubmissions keep them.",
    }),
    mounts: t.field({
      type: [MountInput],
      description:
        'Volumes that its kernels mount. It runs on agents that have all of them for its project. Retries and resubmissions keep them.',
    }),
    concurrencyKey: t.string({
      description: 'Only `concurrencyLimit` sessions of its project with this key are placed at the same time.',
    }),
    concurrencyLimit: t.int({ description: 'Limit for its `concurrencyKey`, 1 to 1000; 1 if missing.' }),
    dependsOn: t.field({ type: ['UUID'], description: 'Ids of sessions whose chains must succeed before it starts.' }),
    creationId: t.string({
      description:
        'Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved.',
    }),
    retryPolicy: t.field({ type: RetryPolicyInput, description: 'Its retry policy.' }),
  }),
})

export const CreateSessionsInput = builder.inputType('CreateSessionsInput', {
  description: 'Sessions to create.',
  fields: (t) => ({
    sessions: t.field({ type: [CreateSessionInput], required: true, description: 'The sessions, at most 1000.' }),
  }),
})

export const TerminateSessionInput = builder.inputType('TerminateSessionInput', {
  description: 'The session to terminate.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Id of any session of the chain.' }),
    force: t.boolean({ description: 'True: kills its kernels at once, without a grace period to clean up.' }),
    reason: t.string({ description: 'The reason, for people.' }),
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
    idPrefix: t.string({ description: ID_PREFIX_WORDS }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    parentSessionId: t.field({ type: 'UUID', description: 'The attempt that follows the session with this id.' }),
    agent: t.field({ type: 'UUID', description: 'With a kernel that is or was on the agent with this id.' }),
    resourceGroup: t.string({ description: 'In the resource group of this name.' }),
    concurrencyKey: t.string({ description: 'With this concurrency key.' }),
    dependsOn: t.field({ type: 'UUID', description: 'Sessions that start only once this chain has succeeded.' }),
    retryCount: t.field({ type: IntRange, description: 'Filter by `retryCount`.' }),
    maxRetries: t.field({ type: IntRange, description: 'Filter by `maxRetries`.' }),
    failureCause: t.field({ type: [FailureCauseEnum], description: 'Failed for one of these causes.' }),
    failureReason: t.stringList({ description: 'With one of these `failureReason`s.' }),
    exitCode: t.intList({ description: 'Ended with one of these exit codes.' }),
    statusReason: t.field({
      type: StringFilter,
      description: 'Filter by `statusReason`, the explanation of its status.',
    }),
    retryPhase: t.field({ type: [RetryPhaseEnum], description: 'With `retryState.phase` in one of these.' }),
    origin: t.field({ type: [SessionOriginEnum], description: 'Of one of these origins.' }),
    name: t.field({ type: StringFilter, description: 'Filter by name.' }),
    label: t.field({ type: LabelInput, description: 'With this label.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'Filter by creation time.' }),
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

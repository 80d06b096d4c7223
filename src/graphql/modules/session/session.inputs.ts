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
  description: 'What to run, and how.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name; need not be unique.' }),
    sessionType: t.field({ type: SessionTypeEnum, defaultValue: 'BATCH', description: 'What it is for.' }),
    project: t.string({ defaultValue: 'default', description: 'Name of the project.' }),
    resourceGroup: t.string({ defaultValue: 'default', description: 'Name of the resource group to run in.' }),
    image: t.string({
      description:
        'Container image of its kernels; for agents without containers, a preset of environment and interpreter.',
    }),
    command: t.stringList({ required: true, description: 'The program and its arguments: `["sh", "-c", "exit 3"]`.' }),
    codeSha256: t.string({
      description:
        'SHA-256 of code that was uploaded for the project (`PUT /v2/code/{sha256}`): its kernels find the files in their working directory.',
    }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Environment of its kernels, in addition to the variables set by Reprise.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description: 'Variables whose values are encrypted, handed to kernels that start, and read by nobody else.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'Resources of each kernel.' }),
    clusterSize: t.int({ defaultValue: 1, description: 'How many kernels.' }),
    clusterMode: t.field({ type: ClusterModeEnum, description: 'How they are spread over agents.' }),
    batchTimeout: t.float({ description: 'Batch timeout: seconds that user code may run.' }),
    startsAt: t.field({ type: 'DateTime', description: 'Earliest start time.' }),
    priority: t.int({ defaultValue: 10, description: '0 to 100; the higher goes first.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice.' }),
    allowAgents: t.field({ type: ['UUID'], description: 'Only these agents may run it, and its retries; none: all.' }),
    avoidAgents: t.field({ type: ['UUID'], description: 'Agents to avoid: used only if no other has free capacity.' }),
    excludeAgents: t.field({
      type: ['UUID'],
      description: 'Agents that must not run it, nor its retries: it waits if no other is left.',
    }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run it.' }),
    executorOptions: t.field({
      type: [ExecutorOptionInput],
      description:
        "What the executor is told beside the resource group's own options, as the `partition` of a Slurm cluster; only keys of the group's `allowedExecutorOptions`. Retries and resubmissions keep them.",
    }),
    mounts: t.field({
      type: [MountInput],
      description:
        'Volumes for its kernels. It runs on agents that have all of them for its project. Retries and resubmissions keep them.',
    }),
    concurrencyKey: t.string({
      description: 'Of the sessions of its project with this key only `concurrencyLimit` are placed at once.',
    }),
    concurrencyLimit: t.int({ description: 'How many with its `concurrencyKey`, 1 to 1000; 1 if nothing is said.' }),
    dependsOn: t.field({ type: ['UUID'], description: 'Sessions whose chains must succeed first.' }),
    creationId: t.string({
      description:
        'Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved.',
    }),
    retryPolicy: t.field({ type: RetryPolicyInput, description: 'How it is retried.' }),
  }),
})

export const CreateSessionsInput = builder.inputType('CreateSessionsInput', {
  description: 'Sessions to create.',
  fields: (t) => ({
    sessions: t.field({ type: [CreateSessionInput], required: true, description: 'At most 1000.' }),
  }),
})

export const TerminateSessionInput = builder.inputType('TerminateSessionInput', {
  description: 'Which session to end, and how.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Any session of the chain.' }),
    force: t.boolean({ description: 'Kill its kernels at once, without the time to clean up.' }),
    reason: t.string({ description: 'Why, in your words.' }),
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
    parentSessionId: t.field({ type: 'UUID', description: 'The attempt after this one.' }),
    agent: t.field({ type: 'UUID', description: 'With a kernel that is, or was, on the agent of this id.' }),
    resourceGroup: t.string({ description: 'In the resource group of this name.' }),
    concurrencyKey: t.string({ description: 'With this concurrency key.' }),
    dependsOn: t.field({ type: 'UUID', description: 'That start only once this chain has succeeded.' }),
    retryCount: t.field({ type: IntRange, description: 'By `retryCount`.' }),
    maxRetries: t.field({ type: IntRange, description: 'By `maxRetries`.' }),
    failureCause: t.field({ type: [FailureCauseEnum], description: 'Failed for one of these causes.' }),
    failureReason: t.stringList({ description: 'With one of these `failureReason`s.' }),
    exitCode: t.intList({ description: 'Ended with one of these exit codes.' }),
    statusReason: t.field({ type: StringFilter, description: 'By `statusReason`: why it has its status, in words.' }),
    retryPhase: t.field({ type: [RetryPhaseEnum], description: 'With `retryState.phase` in one of these.' }),
    origin: t.field({ type: [SessionOriginEnum], description: 'Of one of these origins.' }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    label: t.field({ type: LabelInput, description: 'With this label.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'By when it was created.' }),
    AND: t.field({ type: [ref], description: 'All of these match.' }),
    OR: t.field({ type: [ref], description: 'At least one of these matches.' }),
    NOT: t.field({ type: ref, description: 'This does not match.' }),
  }),
})

const SessionOrderField = builder.enumType('SessionOrderField', {
  description: 'By what sessions can be ordered.',
  values: {
    CREATED_AT: { description: 'When it was created.' },
    STATUS_CHANGED_AT: { description: 'Since when it has its status.' },
    NAME: { description: 'By name, byte by byte.' },
    PRIORITY: { description: 'By priority.' },
    ATTEMPT: { description: 'By its place in its chain.' },
  } as const,
})

export const SessionOrder = builder.inputType('SessionOrder', {
  description: 'One thing to order by.',
  fields: (t) => ({
    field: t.field({ type: SessionOrderField, required: true, description: 'By what.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Which way.' }),
  }),
})

/** Only columns that are never null: cursors cannot represent NULL. */
const COLUMNS: Record<typeof SessionOrderField.$inferInput, Pick<OrderColumn, 'column' | 'type'>> = {
  CREATED_AT: { column: 'createdAt', type: 'date' },
  STATUS_CHANGED_AT: { column: 'statusChangedAt', type: 'date' },
  NAME: { column: 'name', type: 'text' },
  PRIORITY: { column: 'priority', type: 'number' },
  ATTEMPT: { column: 'attempt', type: 'number' },
}

const NEWEST_FIRST: (typeof SessionOrder.$inferInput)[] = [{ field: 'CREATED_AT', direction: 'DESC' }]

/**
 * The columns to order by; the id comes last, which makes the order total. The default is the order of
 * sessions_created_at_id_idx.
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

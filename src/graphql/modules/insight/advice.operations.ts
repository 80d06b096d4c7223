import type { ADVICE_STATES, AdviceKind, AdvicePatch } from '../../../domain/insight/advice/advice.ts'
import { sayAdvice } from '../../../domain/insight/advice/say-advice.ts'
import { ADVICE_MAX } from '../../../domain/limits.ts'
import {
  type AdviceRow,
  applyRetryAdvice,
  backtestAdvice,
  dismissRetryAdvice,
  readRetryAdvice,
} from '../../../services/insight/advice.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { ProjectNode } from '../access/access.types.ts'
import { ForbiddenError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation, repeatableFields } from '../mutation.ts'
import { PartialPolicyType } from '../retry/retry-policy.types.ts'
import { BreakerSettingType } from '../retry/retry-settings.operations.ts'
import { RetryScopeEnum } from '../retry/retry.enums.ts'
import { BacktestType } from './backtest.operations.ts'

const KINDS = {
  NEVER_SUCCEEDS: { description: 'No retry after an exit code succeeds.' },
  RETRIES_UNUSED: { description: 'No retry after some number of them succeeds.' },
  MEMORY_TOO_LOW: { description: 'Programs run out of memory that succeed with more, or are retried without more.' },
  MEMORY_TOO_HIGH: { description: 'Programs request far more memory than they use.' },
  TIMEOUT_TOO_LOW: { description: 'Programs run out of time that succeed with more, or are retried without more.' },
  OUTAGE_TOO_LONG: { description: 'Outages last longer than the retries of the chains that they hit.' },
  MANY_FAIL_AT_ONCE: { description: 'One failure hits many chains at once, and their retries, too.' },
  BAD_AGENT: { description: 'An agent fails what others finish.' },
  BAD_GPU: { description: 'A GPU fails what others finish.' },
} as const satisfies Record<AdviceKind, { description: string }>

const AdviceKindEnum = builder.enumType('RetryAdviceKind', { description: 'Kinds of advice.', values: KINDS })

const AdviceStateEnum = builder.enumType('RetryAdviceState', {
  description: 'What people have done about advice.',
  values: {
    OPEN: { description: 'Nothing yet.' },
    DISMISSED: { description: 'It is not wanted. It opens again when its evidence has doubled.' },
    APPLIED: { description: 'The change was made. It opens again when its evidence has doubled.' },
  } as const satisfies Record<(typeof ADVICE_STATES)[number], { description: string }>,
})

/** Fields of one kind of change; null for the others. */
const ofKind =
  <Kind extends AdvicePatch['kind'], Value>(kind: Kind, read: (patch: AdvicePatch & { kind: Kind }) => Value) =>
  (patch: AdvicePatch): Value | null =>
    patch.kind === kind ? read(patch as AdvicePatch & { kind: Kind }) : null

const PatchType = builder.objectRef<AdvicePatch>('RetryAdvicePatch').implement({
  description: 'A change that advice suggests. Only the fields of one kind of change are not null.',
  fields: (t) => ({
    policy: t.field({
      type: PartialPolicyType,
      nullable: true,
      description:
        'Fields for the retry defaults of the project, for sessions that do not set them. Rules come before those that new sessions of the project have now.',
      resolve: ofKind('POLICY', ({ policy }) => policy),
    }),
    breaker: t.field({
      type: BreakerSettingType,
      nullable: true,
      description: "The project's setting of the breaker.",
      resolve: ofKind('BREAKER', ({ breaker }) => breaker),
    }),
    name: t.string({
      nullable: true,
      description: 'The name of the sessions whose request changes, where they are submitted.',
      resolve: ofKind('REQUEST', ({ name }) => name),
    }),
    memoryBytes: t.field({
      type: 'Bytes',
      nullable: true,
      description: 'The memory to request, in bytes.',
      resolve: ofKind('REQUEST', ({ memoryBytes }) => memoryBytes ?? null),
    }),
    batchTimeout: t.float({
      nullable: true,
      description: 'The batch timeout to request, in seconds.',
      resolve: ofKind('REQUEST', ({ timeoutSeconds }) => timeoutSeconds ?? null),
    }),
    drainAgentId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'The agent to drain.',
      resolve: ofKind('DRAIN_AGENT', ({ agentId }) => agentId),
    }),
    takeGpu: t.string({
      nullable: true,
      description: 'The UUID of the GPU to take out of service.',
      resolve: ofKind('TAKE_GPU', ({ uuid }) => uuid),
    }),
  }),
})

/** It replays up to as many chains as `backtestRetryPolicy`. */
const BACKTEST_COST = 1_000

/** No project has the nil UUID. */
const NO_PROJECT = '00000000-0000-0000-0000-000000000000'

const AdviceType = builder.objectRef<AdviceRow>('RetryAdvice').implement({
  description:
    'What the finished attempts of the last 30 days suggest to change. docs/insights.md has the threshold of each kind.',
  fields: (t) => ({
    adviceId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    kind: t.field({ type: AdviceKindEnum, description: 'Its kind.', resolve: ({ evidence }) => evidence.kind }),
    project: t.prismaField({
      type: ProjectNode,
      nullable: true,
      description: 'Its project; null for advice about machines.',
      resolve: (query, { projectId }, _args, { services }) =>
        services.prisma.project.findUnique({ ...query, where: { id: projectId ?? NO_PROJECT } }),
    }),
    finding: t.string({
      description: 'What was found, with its numbers.',
      resolve: ({ evidence, patch, named }) => sayAdvice(evidence, patch, named).finding,
    }),
    change: t.string({
      description: 'What would be changed.',
      resolve: ({ evidence, patch, named }) => sayAdvice(evidence, patch, named).change,
    }),
    evidenceCount: t.exposeInt('count', {
      description: 'Number of retries, runs or chains that it rests on.',
    }),
    slotSecondsWasted: t.exposeFloat('slotSeconds', {
      description: 'CPU seconds (running time × CPUs of all kernels) that the change would have saved, at most.',
    }),
    gibHoursWasted: t.exposeFloat('gibHours', {
      description: 'For advice about memory, the GiB hours that it would have saved; otherwise 0.',
    }),
    exampleChainIds: t.expose('examples', {
      type: ['UUID'],
      description: 'The newest chains that it rests on, at most 3.',
    }),
    patch: t.expose('patch', { type: PatchType, description: 'The change.' }),
    canApply: t.boolean({
      description: 'Whether `applyRetryAdvice` makes the change. Requests change where sessions are submitted.',
      resolve: ({ patch }) => patch.kind !== 'REQUEST',
    }),
    foundAt: t.expose('foundAt', { type: 'DateTime', description: 'When it was first found.' }),
    state: t.expose('state', { type: AdviceStateEnum, description: 'What people have done about it.' }),
    stateBy: t.exposeString('stateBy', { nullable: true, description: 'Who: the name of the token.' }),
    stateAt: t.expose('stateAt', { type: 'DateTime', nullable: true, description: 'When.' }),
    backtest: t.field({
      type: BacktestType,
      nullable: true,
      description:
        'What the change would have made of the finished chains of the project in the last 30 days, laid over the policy that each chain had; null if it changes no policy. Each person runs one backtest at a time.',
      complexity: { field: BACKTEST_COST },
      resolve: (row, _args, context) =>
        backtestAdvice({ ...context, prisma: context.services.prisma }, row, context.left),
    }),
  }),
})

/** People look at the first ones. */
const SHOWN = 10
const COST = 10

builder.queryField('retryAdvice', (t) =>
  t.field({
    type: [AdviceType],
    description: `Advice that you may see, what wastes most first; at most ${ADVICE_MAX}. It is looked for once an hour.`,
    args: {
      scope: t.arg({
        type: RetryScopeEnum,
        required: true,
        description: 'CLUSTER: of all projects, and about machines.',
      }),
      name: t.arg.string({ description: 'Name of the domain or project.' }),
      states: t.arg({ type: [AdviceStateEnum], description: 'Only advice in these states; if missing, open advice.' }),
      adviceId: t.arg({ type: 'UUID', description: 'Only this advice, in any state.' }),
    },
    complexity: ({ adviceId }) => ({ field: COST, multiplier: adviceId == null ? SHOWN : 1 }),
    resolve: (_root, args, context) => readRetryAdvice(context, args),
  }),
)

const Payload = builder.objectRef<AdviceRow>('RetryAdvicePayload').implement({
  description: 'Advice that was applied or dismissed.',
  fields: (t) => ({
    advice: t.field({ type: AdviceType, description: 'The advice, as it is now.', resolve: (row) => row }),
  }),
})

const ERRORS = [ValidationError, NotFoundError, ForbiddenError] as const

const target = (t: Parameters<typeof repeatableFields>[0]) => ({
  adviceId: t.field({ type: 'UUID', required: true, description: 'Id of the advice.' }),
})

mutation({
  name: 'applyRetryAdvice',
  description:
    'Makes the change that advice suggests. Needs the role ADMIN: that of the project, or of all projects for machines.',
  input: builder.inputType('ApplyRetryAdviceInput', {
    description: 'Advice to apply.',
    fields: (t) => ({ ...target(t), ...repeatableFields(t) }),
  }),
  inputDescription: 'The advice.',
  payload: Payload,
  errors: ERRORS,
  repeatable: true,
  result: 'The advice',
  run: (context: GraphQLContext, input) => applyRetryAdvice(context, input),
})

mutation({
  name: 'dismissRetryAdvice',
  description: 'Says that advice is not wanted. Needs the role ADMIN. It opens again when its evidence has doubled.',
  input: builder.inputType('DismissRetryAdviceInput', {
    description: 'Advice to dismiss.',
    fields: (t) => ({
      ...target(t),
      dismissed: t.boolean({ description: 'False opens it again; true if missing.' }),
      ...repeatableFields(t),
    }),
  }),
  inputDescription: 'The advice.',
  payload: Payload,
  errors: ERRORS,
  repeatable: true,
  result: 'The advice',
  run: (context: GraphQLContext, input) => dismissRetryAdvice(context, input),
})

import type {
  RetryPolicy,
  RetryRule,
  RuleMatch,
  SlotGrowth,
  TimeoutGrowth,
} from '../../../domain/retry/policy/policy.ts'
import type { PolicySource, ResolvedPolicy } from '../../../domain/retry/policy/resolve-policy.ts'
import { builder } from '../../builder.ts'
import './exit-codes.scalar.ts'
import {
  AvoidanceEnum,
  BackoffEnum,
  ExclusionEnum,
  FailureCauseEnum,
  JitterEnum,
  RuleActionEnum,
} from './retry.enums.ts'

const RuleMatchType = builder.objectRef<RuleMatch>('RetryRuleMatch').implement({
  description: 'Conditions of a rule. All given conditions must match.',
  fields: (t) => ({
    causes: t.expose('causes', { type: [FailureCauseEnum], nullable: true, description: 'One of these causes.' }),
    exitCodes: t.expose('exitCodes', { type: ['ExitCodes'], nullable: true, description: 'One of these exit codes.' }),
    exitCodesNotIn: t.expose('exitCodesNotIn', {
      type: ['ExitCodes'],
      nullable: true,
      description: 'An exit code, but none of these.',
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'A reason like this, with `*` and `?`.' }),
  }),
})

const SlotGrowthType = builder.objectRef<SlotGrowth>('RetrySlotGrowth').implement({
  description: 'How a slot grows from attempt to attempt. It never shrinks.',
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'Which slot.' }),
    factor: t.exposeFloat('factor', { description: 'The factor.' }),
    max: t.exposeString('max', { nullable: true, description: 'Upper limit, as a plain decimal.' }),
  }),
})

const TimeoutGrowthType = builder.objectRef<TimeoutGrowth>('RetryTimeoutGrowth').implement({
  description: 'How the batch timeout grows from attempt to attempt. It never shrinks.',
  fields: (t) => ({
    factor: t.exposeFloat('factor', { description: 'The factor.' }),
    max: t.exposeFloat('max', { nullable: true, description: 'Upper limit, in seconds.' }),
  }),
})

export const RetryRuleType = builder.objectRef<RetryRule>('RetryRule').implement({
  description: 'What to do about failures of one kind.',
  fields: (t) => ({
    match: t.expose('match', { type: RuleMatchType, description: 'Which failures.' }),
    action: t.expose('action', { type: RuleActionEnum, description: 'What to do.' }),
    delay: t.exposeFloat('delay', { nullable: true, description: "Base delay in seconds, in place of the formula's." }),
    scaleResources: t.expose('scaleResources', {
      type: [SlotGrowthType],
      nullable: true,
      description: 'Slots that grow.',
    }),
    scaleTimeout: t.expose('scaleTimeout', {
      type: TimeoutGrowthType,
      nullable: true,
      description: 'Growth of the batch timeout.',
    }),
    avoid: t.expose('avoid', { type: AvoidanceEnum, nullable: true, description: 'What the retry avoids.' }),
    exclude: t.expose('exclude', { type: ExclusionEnum, nullable: true, description: 'What the retry excludes.' }),
  }),
})

const PolicyLayerEnum = builder.enumType('RetryPolicyLayer', {
  description: 'Where a field of a policy may come from, strongest first.',
  values: {
    SESSION: { description: 'The session itself, when it was created or resubmitted.' },
    PROJECT: { description: "The project's defaults." },
    DOMAIN: { description: "The domain's defaults." },
    CLUSTER: { description: "The cluster's defaults." },
    SHIPPED: { description: 'The built-in default.' },
  } as const satisfies Record<PolicySource, { description: string }>,
})

const PolicySourceType = builder.objectRef<{ field: string; source: PolicySource }>('RetryPolicySource').implement({
  description: 'Where a field of a policy comes from.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'Its name, as in `RetryPolicy`.' }),
    source: t.expose('source', { type: PolicyLayerEnum, description: 'Who gave it.' }),
  }),
})

export interface ShownPolicy extends RetryPolicy {
  sources: ResolvedPolicy['sources']
}

export const RetryPolicyType = builder.objectRef<ShownPolicy>('RetryPolicy').implement({
  description: 'How a session is retried. Durations are seconds.',
  fields: (t) => ({
    maxRetries: t.exposeInt('maxRetries', {
      description: 'Number of retries; total attempts are one more. 0 means none.',
    }),
    retryDelay: t.exposeFloat('retryDelay', { description: 'The first delay.' }),
    backoff: t.expose('backoff', { type: BackoffEnum, description: 'How delays grow.' }),
    backoffMultiplier: t.exposeFloat('backoffMultiplier', { description: 'Factor by which delays grow, if they do.' }),
    maxRetryDelay: t.exposeFloat('maxRetryDelay', {
      nullable: true,
      description: 'Longest delay. Null means the absolute ceiling, 86400.',
    }),
    jitter: t.expose('jitter', { type: JitterEnum, description: 'How delays are spread.' }),
    jitterRatio: t.exposeFloat('jitterRatio', {
      description: 'Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1.',
    }),
    eligibleCauses: t.expose('eligibleCauses', { type: [FailureCauseEnum], description: 'Failures that are retried.' }),
    emitRetryEvents: t.exposeBoolean('emitRetryEvents', {
      description: 'False: no retry events. Decisions are stored all the same.',
    }),
    maxElapsed: t.exposeFloat('maxElapsed', {
      nullable: true,
      description: 'No retry starts later than this after the first attempt was created. Null means no limit.',
    }),
    countPreStartFailures: t.exposeBoolean('countPreStartFailures', {
      description: 'False: an attempt that failed before user code started does not use up `maxRetries`.',
    }),
    maxUncountedRetries: t.exposeInt('maxUncountedRetries', {
      description: 'Limit on retries that do not use up `maxRetries`.',
    }),
    trustVerdicts: t.exposeBoolean('trustVerdicts', {
      description: 'True: what a program asks for in its verdict file is followed.',
    }),
    rules: t.expose('rules', { type: [RetryRuleType], description: 'In order; the first that matches decides.' }),
    sources: t.field({
      type: [PolicySourceType],
      description: 'Where each field comes from.',
      resolve: ({ sources }) => Object.entries(sources).map(([field, source]) => ({ field, source })),
    }),
  }),
})

export function shownPolicy({ policy, sources }: ResolvedPolicy): ShownPolicy {
  return { ...policy, sources }
}

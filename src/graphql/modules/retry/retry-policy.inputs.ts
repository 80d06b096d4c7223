import type { RetryPolicyPreset } from '../../../domain/retry/policy/presets.ts'
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

const RuleMatchInput = builder.inputType('RetryRuleMatchInput', {
  description: 'Conditions of a rule. All given conditions must match.',
  fields: (t) => ({
    causes: t.field({ type: [FailureCauseEnum], description: 'One of these causes.' }),
    exitCodes: t.field({ type: ['ExitCodes'], description: 'One of these exit codes.' }),
    exitCodesNotIn: t.field({ type: ['ExitCodes'], description: 'An exit code, but none of these.' }),
    reason: t.string({ description: 'A reason like this, with `*` and `?`.' }),
  }),
})

const SlotGrowthInput = builder.inputType('RetrySlotGrowthInput', {
  description: 'How a slot grows from attempt to attempt. It never shrinks.',
  fields: (t) => ({
    slot: t.string({ required: true, description: 'Which slot.' }),
    factor: t.float({ required: true, description: 'The factor.' }),
    max: t.string({ description: 'Upper limit; bytes take k, m, g, t.' }),
  }),
})

const TimeoutGrowthInput = builder.inputType('RetryTimeoutGrowthInput', {
  description: 'How the batch timeout grows from attempt to attempt. It never shrinks.',
  fields: (t) => ({
    factor: t.float({ required: true, description: 'The factor.' }),
    max: t.float({ description: 'Upper limit, in seconds.' }),
  }),
})

const RetryRuleInput = builder.inputType('RetryRuleInput', {
  description: 'What to do about failures of one kind.',
  fields: (t) => ({
    match: t.field({ type: RuleMatchInput, required: true, description: 'Which failures.' }),
    action: t.field({ type: RuleActionEnum, required: true, description: 'What to do.' }),
    delay: t.float({ description: "Base delay in seconds, in place of the formula's." }),
    scaleResources: t.field({ type: [SlotGrowthInput], description: 'Slots that grow.' }),
    scaleTimeout: t.field({ type: TimeoutGrowthInput, description: 'Growth of the batch timeout.' }),
    avoid: t.field({ type: AvoidanceEnum, description: 'What the retry avoids, as long as there is another place.' }),
    exclude: t.field({ type: ExclusionEnum, description: 'What the retry excludes, even if it has to wait.' }),
  }),
})

const RetryPolicyPresetEnum = builder.enumType('RetryPolicyPreset', {
  description: 'Policies to start from.',
  values: {
    CMS_EXIT_CODES: {
      description:
        'Ten attempts, 900 s apart, of the exit codes that CMS grid jobs recover from, with more memory, more time or in another resource group where that helps; every other exit code is final.',
    },
  } as const satisfies Record<RetryPolicyPreset, { description: string }>,
})

export const RetryPolicyInput = builder.inputType('RetryPolicyInput', {
  description:
    'How a session is retried. Durations are seconds. Missing fields come from the defaults of project, domain and cluster, in this order.',
  fields: (t) => ({
    preset: t.field({
      type: RetryPolicyPresetEnum,
      description: "Supplies the fields that are missing here. The fields are stored, not the preset's name.",
    }),
    maxRetries: t.int({
      description: '0 to 100. Total attempts are one more. 0 means no retries, whatever the defaults say.',
    }),
    retryDelay: t.float({ description: 'The first delay, more than 0.' }),
    backoff: t.field({ type: BackoffEnum, description: 'How delays grow.' }),
    backoffMultiplier: t.float({ description: 'Factor by which delays grow, if they do; more than 0.' }),
    maxRetryDelay: t.float({ description: 'Longest delay. Null means the absolute ceiling, 86400.' }),
    jitter: t.field({ type: JitterEnum, description: 'How delays are spread.' }),
    jitterRatio: t.float({
      description: 'Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1.',
    }),
    eligibleCauses: t.field({ type: [FailureCauseEnum], description: 'Failures that are retried.' }),
    emitRetryEvents: t.boolean({ description: 'False: no retry events. Decisions are stored all the same.' }),
    maxElapsed: t.float({
      description: 'No retry starts later than this after the first attempt was created. Null means no limit.',
    }),
    countPreStartFailures: t.boolean({
      description: 'False: an attempt that failed before user code started does not use up `maxRetries`.',
    }),
    maxUncountedRetries: t.int({ description: '0 to 100: limit on retries that do not use up `maxRetries`.' }),
    trustVerdicts: t.boolean({ description: 'True: what a program asks for in its verdict file is followed.' }),
    rules: t.field({ type: [RetryRuleInput], description: 'At most 20, in order; the first that matches decides.' }),
  }),
})

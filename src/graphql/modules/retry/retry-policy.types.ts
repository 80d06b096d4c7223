import { GraphQLError } from 'graphql'
import { EXIT_CODES_WANTED, parseExitCodes } from '../../../domain/retry/policy/exit-codes.ts'
import {
  gpuMemoryGrowth,
  type GpuMemoryGrowth,
  retryPolicy,
  type RetryPolicy,
  type RetryRule,
  rule,
  ruleMatch,
  type RuleMatch,
  slotGrowth,
  type SlotGrowth,
  timeoutGrowth,
  type TimeoutGrowth,
} from '../../../domain/retry/policy/policy.ts'
import type { PolicySource, ResolvedPolicy, RetryPolicyPreset } from '../../../domain/retry/policy/resolve-policy.ts'
import { builder } from '../../builder.ts'
import {
  acceptsNothing,
  givenFields,
  type InputOutputFields,
  inputOutputTypes,
  shownFields,
} from './input-output-types.ts'
import {
  AvoidanceEnum,
  BackoffEnum,
  CheckpointWishEnum,
  ExclusionEnum,
  FailureCauseEnum,
  GrowthStartEnum,
  JitterEnum,
  RuleActionEnum,
} from './retry.enums.ts'

const RuleMatchTypes = inputOutputTypes<RuleMatch>(
  'RetryRuleMatch',
  'Conditions of a rule. All given conditions must match.',
  ruleMatch,
  {
    causes: { type: [FailureCauseEnum], description: 'The cause is one of these.' },
    exitCodes: { type: ['ExitCodes'], description: 'The exit code is one of these.' },
    exitCodesNotIn: { type: ['ExitCodes'], description: 'There is an exit code, and it is none of these.' },
    reason: { type: 'String', description: 'The failure reason matches this pattern, with `*` and `?`.' },
  },
)

const SlotGrowthTypes = inputOutputTypes<SlotGrowth>(
  'RetrySlotGrowth',
  'How a slot grows from attempt to attempt. It never shrinks.',
  slotGrowth,
  {
    slot: { type: 'String', description: 'Name of the slot.' },
    from: {
      type: GrowthStartEnum,
      description: 'What is multiplied by the factor; null means REQUEST.',
      given: 'What is multiplied by the factor; REQUEST if missing.',
    },
    factor: { type: 'Float', description: 'Factor for each attempt.' },
    max: {
      type: 'String',
      description: 'Maximum, as a plain decimal.',
      given: 'Maximum; bytes take k, m, g, t.',
    },
  },
)

const GpuMemoryGrowthTypes = inputOutputTypes<GpuMemoryGrowth>(
  'RetryGpuMemoryGrowth',
  'How the memory that each GPU must have grows from attempt to attempt. It never shrinks.',
  gpuMemoryGrowth,
  {
    factor: { type: 'Float', description: 'Factor for each attempt.' },
    max: { type: 'String', description: 'Maximum, in bytes.', given: 'Maximum; bytes take k, m, g, t.' },
  },
)

const TimeoutGrowthTypes = inputOutputTypes<TimeoutGrowth>(
  'RetryTimeoutGrowth',
  'How the batch timeout grows from attempt to attempt. It never shrinks.',
  timeoutGrowth,
  {
    factor: { type: 'Float', description: 'Factor for each attempt.' },
    max: { type: 'Float', description: 'Maximum, in seconds.' },
  },
)

const RuleTypes = inputOutputTypes<RetryRule>('RetryRule', 'A rule for one kind of failure.', rule, {
  match: { type: RuleMatchTypes, description: 'The failures that the rule applies to.' },
  action: { type: RuleActionEnum, description: 'The action for these failures.' },
  delay: { type: 'Float', description: "Base delay in seconds, in place of the formula's." },
  scaleResources: { type: [SlotGrowthTypes], description: 'Growth of slots.' },
  scaleGpuMemory: {
    type: GpuMemoryGrowthTypes,
    description:
      'Growth of the memory that each GPU must have: from what the session asks for, or else from that of the GPU that the failed attempt had.',
  },
  scaleTimeout: { type: TimeoutGrowthTypes, description: 'Growth of the batch timeout, after a timeout.' },
  avoid: {
    type: AvoidanceEnum,
    description: 'Where the retry does not run if it can run elsewhere.',
    given: 'Where the retry does not run if it can run elsewhere.',
  },
  exclude: {
    type: ExclusionEnum,
    description: 'Where the retry does not run, even if it has to wait.',
    given: 'Where the retry does not run, even if it has to wait.',
  },
})

/** Delays are seconds in outputs; inputs also take text. */
const DELAY_TYPES = { type: 'Float', input: 'Duration' } as const

/** Fields of `RetryPolicy`, `RetryPolicyInput` and `PartialRetryPolicy`. */
const POLICY_FIELDS: InputOutputFields<RetryPolicy> = {
  maxRetries: {
    type: 'Int',
    description: 'Number of retries: one less than the number of attempts. 0 means none.',
    given:
      'Number of retries, 0 to 100: one less than the number of attempts. 0 means no retries, even if the defaults allow some.',
  },
  delays: {
    type: [DELAY_TYPES],
    description:
      'The delay of each retry, instead of the formula (`retryDelay`, `backoff`, `backoffMultiplier`, `maxRetryDelay`); the last one repeats. Null means the formula.',
    given:
      'The delay of each retry, instead of the formula (`retryDelay`, `backoff`, `backoffMultiplier`, `maxRetryDelay`): 1 to 100 delays of at most a day; the last one repeats. Without `maxRetries` there are as many retries as delays, and without `jitter` the delays are exact. Null means the formula.',
  },
  retryDelay: { type: 'Float', description: 'The first delay.', given: 'The first delay, more than 0.' },
  backoff: { type: BackoffEnum, description: 'How delays grow.' },
  backoffMultiplier: {
    type: 'Float',
    description: 'Factor by which delays grow, if they do.',
    given: 'Factor by which delays grow, if they do; more than 0.',
  },
  maxRetryDelay: { type: 'Float', description: 'Longest delay. Null means the absolute ceiling, 86400.' },
  jitter: { type: JitterEnum, description: 'How delays are randomized.' },
  jitterRatio: {
    type: 'Float',
    description: 'Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1.',
  },
  eligibleCauses: { type: [FailureCauseEnum], description: 'Failures that are retried.' },
  emitRetryEvents: {
    type: 'Boolean',
    description: 'False: no retry events are sent. Decisions are stored in any case.',
  },
  maxElapsed: {
    type: 'Float',
    description: 'No retry starts later than this after the first attempt was created. Null means no limit.',
  },
  countPreStartFailures: {
    type: 'Boolean',
    description: 'False: an attempt that failed before user code started does not use up `maxRetries`.',
  },
  maxUncountedRetries: {
    type: 'Int',
    description: 'Limit on retries that do not use up `maxRetries`.',
    given: '0 to 100: limit on retries that do not use up `maxRetries`.',
  },
  trustVerdicts: {
    type: 'Boolean',
    description: "True: requests in a program's verdict file are followed.",
  },
  checkpoint: {
    type: CheckpointWishEnum,
    description: 'Whether a retry runs where the checkpoint of earlier attempts is.',
  },
  checkpointWait: {
    type: 'Float',
    description: 'Seconds that a session that requires its checkpoint waits for it, before it starts without.',
    given: 'Seconds that a session that requires its checkpoint waits for it, before it starts without: more than 0.',
  },
  pinImage: {
    type: 'Boolean',
    description: 'True: a retry runs exactly the image of the attempt before, even if its tag now refers to another.',
  },
  oomIsFailure: {
    type: 'Boolean',
    description:
      'False: a program that exits with 0 has succeeded, even if the lack of memory killed one of its processes. Failures with another exit code keep the cause OOM_KILLED.',
  },
  progressTimeout: {
    type: 'Float',
    description:
      'Seconds without progress after which an attempt has failed (HUNG). Null means no limit. Without `eligibleCauses` anywhere, HUNG is then retried.',
    given:
      'Seconds without progress after which an attempt has failed (HUNG): at least 1. Null means no limit. Without `eligibleCauses` anywhere, HUNG is then retried.',
  },
  rules: {
    type: [RuleTypes],
    description: 'Rules in order; the first that matches decides.',
    given: 'Rules in order, at most 20; the first that matches decides.',
  },
}

const RetryPolicyPresetEnum = builder.enumType('RetryPolicyPreset', {
  description: 'Predefined policies.',
  values: {
    CMS_EXIT_CODES: {
      description:
        'Ten attempts, 900 s apart, for the exit codes that CMS grid jobs recover from, with more memory, more time or another resource group where that helps. Every other exit code is final.',
    },
  } as const satisfies Record<RetryPolicyPreset, { description: string }>,
})

export const RetryPolicyInput = builder.inputType('RetryPolicyInput', {
  description:
    'How a session is retried. Durations are seconds. Missing fields come from the defaults of project, domain and cluster, in this order.',
  fields: (t) => ({
    preset: t.field({
      type: RetryPolicyPresetEnum,
      description:
        'A predefined policy for the fields that are missing here. The session stores the fields, not the name of the preset.',
    }),
    ...givenFields(t, POLICY_FIELDS, () => false),
  }),
})

const PolicyLayerEnum = builder.enumType('RetryPolicyLayer', {
  description: "Sources of a policy's fields; earlier ones take precedence.",
  values: {
    SESSION: { description: 'The session itself, when it was created or resubmitted.' },
    PROJECT: { description: "The project's defaults." },
    DOMAIN: { description: "The domain's defaults." },
    CLUSTER: { description: "The cluster's defaults." },
    SHIPPED: { description: 'The built-in default.' },
  } as const satisfies Record<PolicySource, { description: string }>,
})

const PolicyFieldEnum = builder.enumType('RetryPolicyField', {
  description: 'Name of a field of a retry policy.',
  values: Object.fromEntries(
    Object.entries(POLICY_FIELDS).map(([name, { description }]) => [
      name,
      { value: name as keyof RetryPolicy, description },
    ]),
  ),
})

export const PolicySourceType = builder
  .objectRef<{ field: keyof RetryPolicy; source: PolicySource }>('RetryPolicySource')
  .implement({
    description: 'The source of one field of a policy.',
    fields: (t) => ({
      field: t.expose('field', { type: PolicyFieldEnum, description: 'Name of the field, as in `RetryPolicy`.' }),
      source: t.expose('source', { type: PolicyLayerEnum, description: 'Its source.' }),
    }),
  })

export interface ShownPolicy extends RetryPolicy {
  sources: ResolvedPolicy['sources']
}

const nullIsAValue = (field: string) => acceptsNothing(retryPolicy, field)

export const RetryPolicyType = builder.objectRef<ShownPolicy>('RetryPolicy').implement({
  description: 'How a session is retried. Durations are seconds.',
  fields: (t) => ({
    ...shownFields<RetryPolicy>(t, POLICY_FIELDS, nullIsAValue),
    sources: t.field({
      type: [PolicySourceType],
      description: 'The source of each field.',
      resolve: ({ sources }) => listSources(sources),
    }),
  }),
})

export const PartialPolicyType = builder.objectRef<Partial<RetryPolicy>>('PartialRetryPolicy').implement({
  description:
    'Some fields of a retry policy. Fields not listed in `given` are null here; another source defines them.',
  fields: (t) => ({
    given: t.field({
      type: [PolicyFieldEnum],
      description: 'Names of the fields that this one defines.',
      resolve: (policy) => Object.keys(policy) as (keyof RetryPolicy)[],
    }),
    ...shownFields<Partial<RetryPolicy>>(
      t,
      POLICY_FIELDS,
      () => true,
      (_, name) =>
        nullIsAValue(name) ? 'Same as in RetryPolicy; null is possible as a value.' : 'Same as in RetryPolicy.',
    ),
  }),
})

export function listSources(sources: ResolvedPolicy['sources']): { field: keyof RetryPolicy; source: PolicySource }[] {
  return Object.entries(sources).map(([field, source]) => ({ field: field as keyof RetryPolicy, source }))
}

export function shownPolicy({ policy, sources }: ResolvedPolicy): ShownPolicy {
  return { ...policy, sources }
}

builder.scalarType('Duration', {
  description: 'A duration: seconds as a number, or text such as `"20s"`, `"1.5m"`, `"2h"` or `"1d"`.',
  parseValue(value) {
    // Services report invalid texts, each with its path.
    if (typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))) return value
    throw new GraphQLError(
      `Duration cannot represent ${JSON.stringify(value)}: it is a number of seconds, or text like "20s"`,
    )
  },
})

builder.scalarType('ExitCodes', {
  description: 'An exit code as a number, or a range of exit codes, both ends included, as text: `75`, `"64-78"`.',
  parseValue(value) {
    const codes = parseExitCodes(value)
    if (codes !== undefined) return codes
    throw new GraphQLError(`ExitCodes cannot represent ${JSON.stringify(value)}: it is ${EXIT_CODES_WANTED}`)
  },
  serialize: (value) => value as never,
})

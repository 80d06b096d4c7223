import { GraphQLError } from 'graphql'
import { EXIT_CODES_WANTED, parseExitCodes } from '../../../domain/retry/policy/exit-codes.ts'
import {
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
  JitterEnum,
  RuleActionEnum,
} from './retry.enums.ts'

const RuleMatchTypes = inputOutputTypes<RuleMatch>(
  'RetryRuleMatch',
  'Conditions of a rule. All given conditions must match.',
  ruleMatch,
  {
    causes: { type: [FailureCauseEnum], description: 'One of these causes.' },
    exitCodes: { type: ['ExitCodes'], description: 'One of these exit codes.' },
    exitCodesNotIn: { type: ['ExitCodes'], description: 'An exit code, but none of these.' },
    reason: { type: 'String', description: 'A reason like this, with `*` and `?`.' },
  },
)

const SlotGrowthTypes = inputOutputTypes<SlotGrowth>(
  'RetrySlotGrowth',
  'How a slot grows from attempt to attempt. It never shrinks.',
  slotGrowth,
  {
    slot: { type: 'String', description: 'Which slot.' },
    factor: { type: 'Float', description: 'The factor.' },
    max: {
      type: 'String',
      description: 'Upper limit, as a plain decimal.',
      given: 'Upper limit; bytes take k, m, g, t.',
    },
  },
)

const TimeoutGrowthTypes = inputOutputTypes<TimeoutGrowth>(
  'RetryTimeoutGrowth',
  'How the batch timeout grows from attempt to attempt. It never shrinks.',
  timeoutGrowth,
  {
    factor: { type: 'Float', description: 'The factor.' },
    max: { type: 'Float', description: 'Upper limit, in seconds.' },
  },
)

const RuleTypes = inputOutputTypes<RetryRule>('RetryRule', 'What to do about failures of one kind.', rule, {
  match: { type: RuleMatchTypes, description: 'Which failures.' },
  action: { type: RuleActionEnum, description: 'What to do.' },
  delay: { type: 'Float', description: "Base delay in seconds, in place of the formula's." },
  scaleResources: { type: [SlotGrowthTypes], description: 'Slots that grow.' },
  scaleTimeout: { type: TimeoutGrowthTypes, description: 'Growth of the batch timeout.' },
  avoid: {
    type: AvoidanceEnum,
    description: 'What the retry avoids.',
    given: 'What the retry avoids, as long as there is another place.',
  },
  exclude: {
    type: ExclusionEnum,
    description: 'What the retry excludes.',
    given: 'What the retry excludes, even if it has to wait.',
  },
})

/** Fields of `RetryPolicy`, `RetryPolicyInput` and `PartialRetryPolicy`. */
const POLICY_FIELDS: InputOutputFields<RetryPolicy> = {
  maxRetries: {
    type: 'Int',
    description: 'Number of retries; total attempts are one more. 0 means none.',
    given: '0 to 100. Total attempts are one more. 0 means no retries, whatever the defaults say.',
  },
  retryDelay: { type: 'Float', description: 'The first delay.', given: 'The first delay, more than 0.' },
  backoff: { type: BackoffEnum, description: 'How delays grow.' },
  backoffMultiplier: {
    type: 'Float',
    description: 'Factor by which delays grow, if they do.',
    given: 'Factor by which delays grow, if they do; more than 0.',
  },
  maxRetryDelay: { type: 'Float', description: 'Longest delay. Null means the absolute ceiling, 86400.' },
  jitter: { type: JitterEnum, description: 'How delays are spread.' },
  jitterRatio: {
    type: 'Float',
    description: 'Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1.',
  },
  eligibleCauses: { type: [FailureCauseEnum], description: 'Failures that are retried.' },
  emitRetryEvents: { type: 'Boolean', description: 'False: no retry events. Decisions are stored all the same.' },
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
    description: 'True: what a program asks for in its verdict file is followed.',
  },
  checkpoint: {
    type: CheckpointWishEnum,
    description: 'Whether a retry goes where the checkpoint of earlier attempts is.',
  },
  checkpointWait: {
    type: 'Float',
    description: 'How long a session that requires its checkpoint waits before it does without, in seconds.',
    given: 'How long a session that requires its checkpoint waits before it does without: more than 0.',
  },
  pinImage: {
    type: 'Boolean',
    description: 'True: a retry runs the very image that the attempt before ran, whatever its tag stands for by then.',
  },
  rules: {
    type: [RuleTypes],
    description: 'In order; the first that matches decides.',
    given: 'At most 20, in order; the first that matches decides.',
  },
}

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
    ...givenFields(t, POLICY_FIELDS, () => false),
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

const nullIsAValue = (field: string) => acceptsNothing(retryPolicy, field)

export const RetryPolicyType = builder.objectRef<ShownPolicy>('RetryPolicy').implement({
  description: 'How a session is retried. Durations are seconds.',
  fields: (t) => ({
    ...shownFields<RetryPolicy>(t, POLICY_FIELDS, nullIsAValue),
    sources: t.field({
      type: [PolicySourceType],
      description: 'Where each field comes from.',
      resolve: ({ sources }) => Object.entries(sources).map(([field, source]) => ({ field, source })),
    }),
  }),
})

export const PartialPolicyType = builder.objectRef<Partial<RetryPolicy>>('PartialRetryPolicy').implement({
  description: 'Some fields of a retry policy. Fields not listed in `given` are null and come from elsewhere.',
  fields: (t) => ({
    given: t.stringList({
      description: 'Names of the fields that are set here.',
      resolve: (policy) => Object.keys(policy),
    }),
    ...shownFields<Partial<RetryPolicy>>(
      t,
      POLICY_FIELDS,
      () => true,
      (_, name) => (nullIsAValue(name) ? 'As in RetryPolicy: null may be given.' : 'As in RetryPolicy.'),
    ),
  }),
})

export function shownPolicy({ policy, sources }: ResolvedPolicy): ShownPolicy {
  return { ...policy, sources }
}

builder.scalarType('ExitCodes', {
  description: 'An exit code as a number, or a range of them with both ends as a text: `75`, `"64-78"`.',
  parseValue(value) {
    const codes = parseExitCodes(value)
    if (codes !== undefined) return codes
    throw new GraphQLError(`ExitCodes cannot represent ${JSON.stringify(value)}: it is ${EXIT_CODES_WANTED}`)
  },
  serialize: (value) => value as never,
})

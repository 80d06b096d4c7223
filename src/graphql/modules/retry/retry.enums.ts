import type { RetryPolicy, RetryRule, SlotGrowth } from '../../../domain/retry/policy/policy.ts'
import type { FailureCause, HoldReason, RetryPhase } from '../../../domain/session/failure.ts'
import { builder } from '../../builder.ts'

interface Described {
  description: string
}

export const FailureCauseEnum = builder.enumType('FailureCause', {
  description: "The cause of a session's failure, as classified by the server.",
  values: {
    AGENT_TRANSIENT: { description: 'Its agent was lost or restarted while it ran.' },
    SCHEDULER_TIMEOUT: { description: 'The scheduler could not start it in time.' },
    IMAGE_PULL_FAILURE: { description: 'Its image could not be fetched.' },
    KERNEL_NONZERO_EXIT: {
      description: 'User code exited with a code other than 0, or ran into the batch timeout.',
    },
    OOM_KILLED: { description: 'It used more memory than its slot allows, and was killed.' },
    UNKNOWN: { description: 'Any other cause.' },
    HUNG: {
      description: 'It made no progress for as long as its `progressTimeout`. Only sessions that have one can hang.',
    },
    USER_CANCELLED: { description: 'A person terminated it. Never retried.' },
    VALIDATION_ERROR: { description: 'It cannot run as specified. Never retried.' },
    QUOTA_EXCEEDED: { description: 'A quota did not allow it. Never retried.' },
  } as const satisfies Record<FailureCause, Described>,
})

export const RetryPhaseEnum = builder.enumType('RetryPhase', {
  description: "Phase of a session's retry.",
  values: {
    NONE: { description: 'It has no retries.' },
    UNDECIDED: { description: 'The session has not ended, or its retry has not been decided yet.' },
    SCHEDULED: { description: 'A retry will be dispatched when its delay is over.' },
    HELD: { description: 'A retry is due but held.' },
    DISPATCHED: { description: 'The child session exists.' },
    SUCCEEDED: { description: 'It succeeded, so there is nothing to retry.' },
    EXHAUSTED: { description: 'It failed, and all its retries are used up.' },
    NOT_ELIGIBLE: { description: 'It failed in a way that is not retried.' },
    CANCELLED: { description: 'A person cancelled the retry.' },
  } as const satisfies Record<RetryPhase, Described>,
})

export const HoldReasonEnum = builder.enumType('HoldReason', {
  description: 'Why a due retry is held.',
  values: {
    DISABLED: { description: 'Retries are switched off here.' },
    RATE_LIMITED: { description: 'The rate limit of retries is reached.' },
    QUOTA: { description: 'The limit of pending sessions is reached.' },
    PARENT_ALIVE: { description: 'The failed attempt may still run on a silent agent.' },
    BREAKER: { description: 'Many chains fail in the same way: only single probes of them go.' },
  } as const satisfies Record<HoldReason, Described>,
})

export const RetryEventTypeEnum = builder.enumType('RetryEventType', {
  description: 'Type of a retry event.',
  values: {
    RETRY_SCHEDULED: { description: 'An attempt failed; a retry is waiting for its delay to pass.' },
    RETRY_HELD: { description: 'A retry is due but held.' },
    RETRY_DISPATCHED: { description: 'The child session was created.' },
    RETRY_SUCCEEDED: { description: 'A retry succeeded.' },
    RETRY_EXHAUSTED: { description: 'The last retry failed.' },
    RETRY_CANCELLED: { description: 'A person cancelled a scheduled or held retry.' },
  } as const,
})

export const BackoffEnum = builder.enumType('RetryBackoff', {
  description: 'How delays grow from retry to retry.',
  values: {
    FIXED: { description: 'All delays are the same.' },
    EXPONENTIAL: { description: 'Delays grow by `backoffMultiplier` each time, up to `maxRetryDelay`.' },
  } as const satisfies Record<RetryPolicy['backoff'], Described>,
})

export const JitterEnum = builder.enumType('RetryJitter', {
  description:
    'How delays are randomized, so that sessions that failed at the same time are not retried at the same time.',
  values: {
    NONE: { description: 'No jitter.' },
    DETERMINISTIC: { description: 'Jitter from a hash of the session: the same session always has the same delay.' },
    RANDOM: { description: 'Random jitter.' },
    FULL: { description: 'The whole delay is random, from 0 to what it would be without jitter.' },
    DECORRELATED: {
      description:
        'The whole delay is random, from `retryDelay` to three times the delay before; `backoff` has no effect.',
    },
  } as const satisfies Record<RetryPolicy['jitter'], Described>,
})

export const RuleActionEnum = builder.enumType('RetryRuleAction', {
  description: 'Action of a rule for the failures that it matches.',
  values: {
    RETRY: { description: 'Retries, even if the cause is not in `eligibleCauses`.' },
    RETRY_UNCOUNTED: { description: 'Retries without using up `maxRetries`.' },
    FAIL: { description: 'Does not retry.' },
  } as const satisfies Record<RetryRule['action'], Described>,
})

export const AvoidanceEnum = builder.enumType('RetryAvoidance', {
  description: 'Where a retry does not run if it can run elsewhere.',
  values: {
    AGENT: { description: 'The agents on which the attempt failed.' },
    RESOURCE_GROUP: { description: 'The resource group in which the attempt failed.' },
  } as const satisfies Record<NonNullable<RetryRule['avoid']>, Described>,
})

export const CheckpointWishEnum = builder.enumType('CheckpointWish', {
  description: 'Whether a retry runs where the checkpoint of earlier attempts is.',
  values: {
    PREFER: {
      description: 'It runs there if an agent with the checkpoint fits, otherwise elsewhere without the checkpoint.',
    },
    REQUIRE: { description: 'It runs only there until `checkpointWait` has passed; then as with PREFER.' },
    IGNORE: { description: 'It runs anywhere.' },
  } as const satisfies Record<RetryPolicy['checkpoint'], Described>,
})

export const GrowthStartEnum = builder.enumType('RetryGrowthStart', {
  description: 'What grows when a slot grows.',
  values: {
    REQUEST: { description: 'The amount that the attempt had.' },
    PEAK: {
      description:
        'The most that a kernel of the attempt used of it. If that is unknown, or at least 95 % of the amount that the attempt had: this amount. Only the use of `mem` is measured.',
    },
  } as const satisfies Record<NonNullable<SlotGrowth['from']>, Described>,
})

export const ExclusionEnum = builder.enumType('RetryExclusion', {
  description: 'Where a retry never runs: it waits instead.',
  values: {
    AGENT: { description: 'The agents on which the attempt failed.' },
  } as const satisfies Record<NonNullable<RetryRule['exclude']>, Described>,
})

export const RetryScopeEnum = builder.enumType('RetryScope', {
  description: 'Scope of a retry setting.',
  values: {
    CLUSTER: { description: 'The whole cluster.' },
    DOMAIN: { description: 'All projects of a domain.' },
    PROJECT: { description: 'One project.' },
  } as const,
})

import type { RetryPolicy, RetryRule } from '../../../domain/retry/policy/policy.ts'
import type { FailureCause, HoldReason, RetryPhase } from '../../../domain/session/failure.ts'
import { builder } from '../../builder.ts'

interface Described {
  description: string
}

export const FailureCauseEnum = builder.enumType('FailureCause', {
  description: 'Why a session failed, as classified.',
  values: {
    AGENT_TRANSIENT: { description: 'Its agent was lost or restarted while it ran.' },
    SCHEDULER_TIMEOUT: { description: 'The scheduler could not start it in time.' },
    IMAGE_PULL_FAILURE: { description: 'Its image could not be fetched.' },
    KERNEL_NONZERO_EXIT: {
      description: 'User code exited with a code other than 0, or ran into the batch timeout.',
    },
    OOM_KILLED: { description: 'It used more memory than its slot allows, and was killed.' },
    UNKNOWN: { description: 'Any other cause.' },
    USER_CANCELLED: { description: 'A person terminated it. Never retried.' },
    VALIDATION_ERROR: { description: 'It could never have run as specified. Never retried.' },
    QUOTA_EXCEEDED: { description: 'A quota forbade it. Never retried.' },
  } as const satisfies Record<FailureCause, Described>,
})

export const RetryPhaseEnum = builder.enumType('RetryPhase', {
  description: "Phase of a session's retry.",
  values: {
    NONE: { description: 'It has no retries.' },
    UNDECIDED: { description: 'The session has not ended, or the decision is about to be made.' },
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
  } as const satisfies Record<HoldReason, Described>,
})

export const RetryEventTypeEnum = builder.enumType('RetryEventType', {
  description: 'What happened to a retry.',
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
  description: 'How delays are spread, so that sessions that failed together do not return together.',
  values: {
    NONE: { description: 'Not at all.' },
    DETERMINISTIC: { description: 'By a hash of the session: the same session always has the same delay.' },
    RANDOM: { description: 'At random.' },
    FULL: { description: 'The whole delay at random, from 0 to what it would be without jitter.' },
    DECORRELATED: {
      description:
        'The whole delay at random, from `retryDelay` to three times the delay before; `backoff` has no effect.',
    },
  } as const satisfies Record<RetryPolicy['jitter'], Described>,
})

export const RuleActionEnum = builder.enumType('RetryRuleAction', {
  description: 'What a matching rule does.',
  values: {
    RETRY: { description: 'Retries, whatever `eligibleCauses` says.' },
    RETRY_UNCOUNTED: { description: 'Retries without using up `maxRetries`.' },
    FAIL: { description: 'Does not retry.' },
  } as const satisfies Record<RetryRule['action'], Described>,
})

export const AvoidanceEnum = builder.enumType('RetryAvoidance', {
  description: 'What the retry avoids: it is used all the same if there is no other.',
  values: {
    AGENT: { description: 'The agents on which the attempt failed.' },
    RESOURCE_GROUP: { description: 'The resource group in which the attempt failed.' },
  } as const satisfies Record<NonNullable<RetryRule['avoid']>, Described>,
})

export const CheckpointWishEnum = builder.enumType('CheckpointWish', {
  description: 'Whether a retry goes where the checkpoint of earlier attempts is.',
  values: {
    PREFER: { description: 'If an agent that has it fits; otherwise elsewhere, without it.' },
    REQUIRE: { description: 'Nowhere else, as long as `checkpointWait` says; then as PREFER.' },
    IGNORE: { description: 'Anywhere.' },
  } as const satisfies Record<RetryPolicy['checkpoint'], Described>,
})

export const ExclusionEnum = builder.enumType('RetryExclusion', {
  description: 'What the retry excludes: it waits rather than go there.',
  values: {
    AGENT: { description: 'The agents on which the attempt failed.' },
  } as const satisfies Record<NonNullable<RetryRule['exclude']>, Described>,
})

export const RetryScopeEnum = builder.enumType('RetryScope', {
  description: 'Where something about retries is set.',
  values: {
    CLUSTER: { description: 'For everything.' },
    DOMAIN: { description: 'For all projects of a domain.' },
    PROJECT: { description: 'For one project.' },
  } as const,
})

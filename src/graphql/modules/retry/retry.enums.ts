import { builder } from '../../builder.ts'

export const FailureCauseEnum = builder.enumType('FailureCause', {
  description: 'Why a session failed, as the classification sees it.',
  values: {
    AGENT_TRANSIENT: { description: 'Its agent was lost or restarted while it ran.' },
    SCHEDULER_TIMEOUT: { description: 'The scheduler could not bring it to run in time.' },
    IMAGE_PULL_FAILURE: { description: 'Its image could not be fetched.' },
    KERNEL_NONZERO_EXIT: {
      description: 'User code ended with another exit code than 0, or ran into the batch timeout.',
    },
    OOM_KILLED: { description: 'It used more memory than its slot allows, and was killed.' },
    UNKNOWN: { description: 'Something that has no name here.' },
    USER_CANCELLED: { description: 'A person ended it. Never retried.' },
    VALIDATION_ERROR: { description: 'It could never have run as it was asked for. Never retried.' },
    QUOTA_EXCEEDED: { description: 'A quota forbade it. Never retried.' },
  } as const,
})

export const RetryPhaseEnum = builder.enumType('RetryPhase', {
  description: 'Where a session stands with its retry.',
  values: {
    NONE: { description: 'It has no retries.' },
    UNDECIDED: { description: 'It is not over, or the decision is about to be made.' },
    SCHEDULED: { description: 'A retry will be dispatched when its delay is over.' },
    HELD: { description: 'A retry is due, but something keeps it.' },
    DISPATCHED: { description: 'The child session exists.' },
    SUCCEEDED: { description: 'It succeeded, so there is nothing to retry.' },
    EXHAUSTED: { description: 'It failed, and all its retries are used up.' },
    NOT_ELIGIBLE: { description: 'It failed in a way that is not retried.' },
    CANCELLED: { description: 'A person cancelled the retry.' },
  } as const,
})

export const HoldReasonEnum = builder.enumType('HoldReason', {
  description: 'What keeps a retry that is due.',
  values: {
    DISABLED: { description: 'Retries are switched off here.' },
    RATE_LIMITED: { description: 'The rate limit of retries is reached.' },
    QUOTA: { description: 'The limit of pending sessions is reached.' },
    PARENT_ALIVE: { description: 'The failed attempt may still run on a silent agent.' },
  } as const,
})

export const RetryEventTypeEnum = builder.enumType('RetryEventType', {
  description: 'What happened to a retry.',
  values: {
    RETRY_SCHEDULED: { description: 'An attempt failed; a retry waits out its delay.' },
    RETRY_HELD: { description: 'A retry is due, but something keeps it.' },
    RETRY_DISPATCHED: { description: 'The child session was created.' },
    RETRY_SUCCEEDED: { description: 'A retry succeeded.' },
    RETRY_EXHAUSTED: { description: 'The last retry failed.' },
    RETRY_CANCELLED: { description: 'A person cancelled a retry that was scheduled or held.' },
  } as const,
})

export const BackoffEnum = builder.enumType('RetryBackoff', {
  description: 'How delays grow from retry to retry.',
  values: {
    FIXED: { description: 'They do not.' },
    EXPONENTIAL: { description: 'By `backoffMultiplier` each time, up to `maxRetryDelay`.' },
  } as const,
})

export const JitterEnum = builder.enumType('RetryJitter', {
  description: 'How delays are spread, so that what failed together does not come back together.',
  values: {
    NONE: { description: 'Not at all.' },
    DETERMINISTIC: { description: 'By a hash of the session: the same session always gets the same delay.' },
    RANDOM: { description: 'At random.' },
  } as const,
})

export const RuleActionEnum = builder.enumType('RetryRuleAction', {
  description: 'What a matching rule does.',
  values: {
    RETRY: { description: 'Retries, whatever `eligibleCauses` says.' },
    RETRY_UNCOUNTED: { description: 'Retries without using up `maxRetries`.' },
    FAIL: { description: 'Does not retry.' },
  } as const,
})

export const AvoidanceEnum = builder.enumType('RetryAvoidance', {
  description: 'What the retry stays away from.',
  values: {
    AGENT: { description: 'The agents on which the attempt failed.' },
    RESOURCE_GROUP: { description: 'The resource group in which the attempt failed.' },
  } as const,
})

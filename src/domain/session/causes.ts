/** Causes that a policy may retry. */
export const ELIGIBLE_CAUSES = [
  'AGENT_TRANSIENT',
  'SCHEDULER_TIMEOUT',
  'IMAGE_PULL_FAILURE',
  'KERNEL_NONZERO_EXIT',
  'OOM_KILLED',
  'UNKNOWN',
] as const

/** Causes that no policy can retry. */
export const NEVER_RETRIED_CAUSES = ['USER_CANCELLED', 'VALIDATION_ERROR', 'QUOTA_EXCEEDED'] as const

export type EligibleCause = (typeof ELIGIBLE_CAUSES)[number]
export type FailureCause = EligibleCause | (typeof NEVER_RETRIED_CAUSES)[number]

export const FAILURE_CAUSES = [...ELIGIBLE_CAUSES, ...NEVER_RETRIED_CAUSES] as const

/** What agents and handlers name as the failure, and the cause that it is. */
export const CAUSE_OF_FAILURE = {
  'agent-lost': 'AGENT_TRANSIENT',
  'agent-fenced': 'AGENT_TRANSIENT',
  'kernel-vanished': 'AGENT_TRANSIENT',
  'node-failed': 'AGENT_TRANSIENT',
  preempted: 'AGENT_TRANSIENT',
  'cancelled-outside': 'AGENT_TRANSIENT',
  'scheduler-timeout': 'SCHEDULER_TIMEOUT',
  'image-pull-failed': 'IMAGE_PULL_FAILURE',
  'image-not-found': 'IMAGE_PULL_FAILURE',
  'image-unauthorised': 'IMAGE_PULL_FAILURE',
  'image-unreachable': 'IMAGE_PULL_FAILURE',
  'image-invalid': 'IMAGE_PULL_FAILURE',
  'image-disk-full': 'IMAGE_PULL_FAILURE',
  'code-unavailable': 'IMAGE_PULL_FAILURE',
  'kernel-exited': 'KERNEL_NONZERO_EXIT',
  'command-not-found': 'KERNEL_NONZERO_EXIT',
  'task-timeout': 'KERNEL_NONZERO_EXIT',
  'oom-killed': 'OOM_KILLED',
  'executor-failed': 'UNKNOWN',
  'submit-refused': 'UNKNOWN',
  'secrets-unreadable': 'UNKNOWN',
  'route-ended': 'UNKNOWN',
  'kernels-missing': 'UNKNOWN',
  'user-cancelled': 'USER_CANCELLED',
  'environment-too-large': 'VALIDATION_ERROR',
  'code-invalid': 'VALIDATION_ERROR',
  'validation-failed': 'VALIDATION_ERROR',
  'dependency-failed': 'VALIDATION_ERROR',
  'quota-exceeded': 'QUOTA_EXCEEDED',
  'chain-directory-full': 'QUOTA_EXCEEDED',
} as const satisfies Record<string, FailureCause>

export const RETRY_PHASES = [
  'NONE',
  'UNDECIDED',
  'SCHEDULED',
  'HELD',
  'DISPATCHED',
  'SUCCEEDED',
  'EXHAUSTED',
  'NOT_ELIGIBLE',
  'CANCELLED',
] as const
export type RetryPhase = (typeof RETRY_PHASES)[number]

export const HOLD_REASONS = ['DISABLED', 'RATE_LIMITED', 'QUOTA', 'PARENT_ALIVE'] as const
export type HoldReason = (typeof HOLD_REASONS)[number]

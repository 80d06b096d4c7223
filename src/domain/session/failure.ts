import type { ProgramVerdict } from './program-verdict.ts'

/** Causes that a policy may retry. */
export const ELIGIBLE_CAUSES = [
  'AGENT_TRANSIENT',
  'SCHEDULER_TIMEOUT',
  'IMAGE_PULL_FAILURE',
  'KERNEL_NONZERO_EXIT',
  'OOM_KILLED',
  'UNKNOWN',
  'HUNG',
] as const

/** The causes that are retried by default. HUNG is another one in policies that have a `progressTimeout`. */
export const DEFAULT_CAUSES = ELIGIBLE_CAUSES.filter((cause) => cause !== 'HUNG')

/** Causes that no policy can retry. */
export const NEVER_RETRIED_CAUSES = ['USER_CANCELLED', 'VALIDATION_ERROR', 'QUOTA_EXCEEDED'] as const

export type EligibleCause = (typeof ELIGIBLE_CAUSES)[number]
export type FailureCause = EligibleCause | (typeof NEVER_RETRIED_CAUSES)[number]

export const FAILURE_CAUSES = [...ELIGIBLE_CAUSES, ...NEVER_RETRIED_CAUSES] as const

/** The cause of each failure, by the name that agents and handlers report. */
const CAUSE_OF_FAILURE = {
  'agent-lost': 'AGENT_TRANSIENT',
  'agent-fenced': 'AGENT_TRANSIENT',
  'kernel-vanished': 'AGENT_TRANSIENT',
  'node-failed': 'AGENT_TRANSIENT',
  preempted: 'AGENT_TRANSIENT',
  'cancelled-outside': 'AGENT_TRANSIENT',
  'gpu-lost': 'AGENT_TRANSIENT',
  'gpu-unavailable': 'AGENT_TRANSIENT',
  'scheduler-timeout': 'SCHEDULER_TIMEOUT',
  'waited-too-long': 'SCHEDULER_TIMEOUT',
  'image-pull-failed': 'IMAGE_PULL_FAILURE',
  'image-not-found': 'IMAGE_PULL_FAILURE',
  'image-unauthorised': 'IMAGE_PULL_FAILURE',
  'image-unreachable': 'IMAGE_PULL_FAILURE',
  'image-invalid': 'IMAGE_PULL_FAILURE',
  'image-disk-full': 'IMAGE_PULL_FAILURE',
  'code-unavailable': 'IMAGE_PULL_FAILURE',
  'inputs-unavailable': 'IMAGE_PULL_FAILURE',
  'kernel-exited': 'KERNEL_NONZERO_EXIT',
  'command-not-found': 'KERNEL_NONZERO_EXIT',
  'path-read-only': 'KERNEL_NONZERO_EXIT',
  'gpu-memory': 'KERNEL_NONZERO_EXIT',
  'gpu-idle': 'KERNEL_NONZERO_EXIT',
  'task-timeout': 'KERNEL_NONZERO_EXIT',
  'oom-killed': 'OOM_KILLED',
  'no-progress': 'HUNG',
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

const CAUSE_BY_NAME: ReadonlyMap<string, FailureCause> = new Map(Object.entries(CAUSE_OF_FAILURE))

/** Names that this server does not know have the cause UNKNOWN. */
export function causeOf(name: FailureName): FailureCause {
  return CAUSE_BY_NAME.get(name) ?? 'UNKNOWN'
}

/**
 * Failures of a pull that the agent has already repeated if that could help, and images that an agent without
 * containers does not have: another try on the same agent would only repeat all of it.
 */
const PULL_FAILURES: readonly FailureName[] = [
  'image-pull-failed',
  'image-not-found',
  'image-unauthorised',
  'image-unreachable',
  'image-invalid',
  'image-disk-full',
]

export function isPullFailure({ name }: Pick<FailureError, 'name'>): boolean {
  return PULL_FAILURES.includes(name)
}

/** Returns whether the session asks for something that every agent refuses. */
export function isRefusal({ name }: Pick<FailureError, 'name'>): boolean {
  return causeOf(name) === 'VALIDATION_ERROR'
}

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

export const HOLD_REASONS = ['DISABLED', 'RATE_LIMITED', 'QUOTA', 'PARENT_ALIVE', 'BREAKER'] as const
export type HoldReason = (typeof HOLD_REASONS)[number]

/**
 * The error that ended a session or kept a kernel from starting, as reported by agents and handlers and as stored in
 * `sessions.status_data` and `kernels.error`.
 */
export interface FailureError {
  name: FailureName
  message: string
  agentId?: string
  exitCode?: number
  /** The program's own verdict. */
  verdict?: ProgramVerdict
}

/** `sessions.status_data`: the envelope that `classifyFailure` reads. */
export interface StatusData {
  error: FailureError
  /** The name of the kernel whose end decided, such as `sub2`; it may change while other kernels still end. */
  kernel?: string
}

/** Any name is allowed on purpose: a well-formed error of an unknown name is classified as UNKNOWN. */
export type FailureName = keyof typeof CAUSE_OF_FAILURE | (string & {})

export const FAILURE_NAMES = Object.keys(CAUSE_OF_FAILURE)

/** The reason recorded when a person ended the session, even if its kernels reported another one. */
export const USER_CANCELLED = 'user-cancelled'

/** The name of the failure, which is more specific than its cause: a cause has several names. */
export function failureReason(session: {
  failureCause: FailureCause | null
  terminatedBy: string | null
  statusData: unknown
}): string | null {
  if (session.failureCause === null) return null
  if (session.terminatedBy !== null) return USER_CANCELLED
  return (session.statusData as Partial<StatusData> | null)?.error?.name ?? null
}

/** Linux's signals, from 1 on. */
const NAMES =
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS'.split(
    ' ',
  )

export interface ExitSignal {
  name: string
  number: number
}

/**
 * Decodes the signal that ended a program, by the convention of shells: 128 plus the signal's number. A program may
 * also exit with such a code by itself, most often to pass on that of a child. Null for any other code.
 */
export function exitSignalOf(exitCode: number | null): ExitSignal | null {
  const number = (exitCode ?? 0) - 128
  const name = NAMES[number - 1]
  return name === undefined ? null : { name: `SIG${name}`, number }
}

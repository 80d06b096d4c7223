import type { FailureCause } from '../../client/schema-types.generated.ts'
import { lookOfCause, TIMED_OUT } from '../design/causes.ts'

/** The words for kinds of failures in addresses: those that can be retried. */
export const RETRIED_CAUSES = {
  exit: 'KERNEL_NONZERO_EXIT',
  timeout: TIMED_OUT,
  oom: 'OOM_KILLED',
  agent: 'AGENT_TRANSIENT',
  image: 'IMAGE_PULL_FAILURE',
  scheduler: 'SCHEDULER_TIMEOUT',
  hung: 'HUNG',
  unknown: 'UNKNOWN',
} as const

export const CAUSES = {
  ...RETRIED_CAUSES,
  cancelled: 'USER_CANCELLED',
  invalid: 'VALIDATION_ERROR',
  quota: 'QUOTA_EXCEEDED',
} as const
export type CauseWord = keyof typeof CAUSES

/** The name of each cause. */
export function namesOfCauses<Word extends string>(causes: Readonly<Record<Word, string>>): Record<Word, string> {
  const names = Object.entries<string>(causes).map(([word, cause]) => [word, lookOfCause(cause).words])
  return Object.fromEntries(names) as Record<Word, string>
}

export function wordOfCause(cause: string): CauseWord | undefined {
  return Object.entries(CAUSES).find(([, each]) => each === cause)?.[0] as CauseWord | undefined
}

/** The part of a filter of chains or decisions that selects a kind of failure. */
export function causeFilter(kind: FailureCause | typeof TIMED_OUT): { cause: FailureCause[]; timedOut?: boolean } {
  if (kind === TIMED_OUT) return { cause: ['KERNEL_NONZERO_EXIT'], timedOut: true }
  return kind === 'KERNEL_NONZERO_EXIT' ? { cause: [kind], timedOut: false } : { cause: [kind] }
}

/** The same for a filter of sessions. */
export function failureFilter(kind: FailureCause | typeof TIMED_OUT): {
  failureCause: FailureCause[]
  timedOut?: boolean
} {
  const { cause, ...others } = causeFilter(kind)
  return { failureCause: cause, ...others }
}

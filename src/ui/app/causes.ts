import { lookOfCause } from '../design/causes.ts'

/** The words for causes in addresses: causes that can be retried. */
export const RETRIED_CAUSES = {
  exit: 'KERNEL_NONZERO_EXIT',
  oom: 'OOM_KILLED',
  agent: 'AGENT_TRANSIENT',
  image: 'IMAGE_PULL_FAILURE',
  scheduler: 'SCHEDULER_TIMEOUT',
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

import type { KernelVariable } from '../session/kernel-variables.ts'
import type { SessionType } from '../session/statuses.ts'
import { budgetOf } from './budget.ts'
import type { FailureCause } from '../session/causes.ts'

export interface RetriedSession {
  id: string
  chainId: string
  sessionType: SessionType
  attempt: number
  retryCount: number
  maxRetries: number
  parentSessionId: string | null
  retryCause: FailureCause | null
}

/**
 * The variables that tell a session's kernels about their chain; KERNEL_VARIABLES defines them. All are always set,
 * and empty if there is no value, so that scripts can read them under `set -u` and never inherit another session's.
 */
export function retryEnvironment(session: RetriedSession): { name: KernelVariable; value: string }[] {
  const maxRetries = budgetOf(session)
  return [
    { name: 'REPRISE_SESSION_ID', value: session.id },
    { name: 'REPRISE_CHAIN_ID', value: session.chainId },
    { name: 'REPRISE_ATTEMPT', value: String(session.attempt) },
    { name: 'REPRISE_MAX_ATTEMPTS', value: String(session.attempt + Math.max(0, maxRetries - session.retryCount)) },
    { name: 'REPRISE_RETRY_COUNT', value: String(session.retryCount) },
    { name: 'REPRISE_RETRY_OF_BUDGET', value: `${session.retryCount} of ${maxRetries}` },
    { name: 'REPRISE_PARENT_SESSION_ID', value: session.parentSessionId ?? '' },
    { name: 'REPRISE_RETRY_CAUSE', value: session.retryCause ?? '' },
  ]
}

import type { RetryEventData } from '../../domain/events.ts'
import type { DueRetry } from '../../store/sql/retry/claim-due-retries.sql.ts'

/** @returns null if the policy disables retry events */
export function retryEventData(retry: DueRetry, childSessionId: string | null, reason: string): RetryEventData | null {
  if (!(retry.retryPolicy.emitRetryEvents ?? true)) return null
  return {
    attempt: retry.retryCount + 1,
    maxAttempts: retry.maxRetries + 1,
    cause: retry.cause,
    delaySeconds: retry.delayMs / 1000,
    scheduledAt: retry.dueAt.toISOString(),
    childSessionId,
    reason,
  }
}

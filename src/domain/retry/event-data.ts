import type { FailureCause } from '../session/causes.ts'
import type { RetryEventData } from '../events.ts'

interface Attempt {
  retryCount: number
  maxRetries: number
}

interface Planned {
  cause: FailureCause | null
  delayMs: number | null
  dueAt: Date | null
}

/** The data of an event about a decision; null for what is not known, or does not come. */
export function retryEventData(
  session: Attempt,
  { cause, delayMs, dueAt }: Planned,
  { childSessionId = null, reason }: { childSessionId?: string | null; reason: string },
): RetryEventData {
  return {
    attempt: session.retryCount + 1,
    maxAttempts: session.maxRetries + 1,
    cause,
    delaySeconds: delayMs === null ? null : delayMs / 1000,
    scheduledAt: dueAt?.toISOString() ?? null,
    childSessionId,
    reason,
  }
}

/** The same of a retry in the queue; null if its policy disables retry events. */
export function queuedRetryEventData(
  retry: Attempt & Planned & { retryPolicy: { emitRetryEvents?: boolean } },
  outcome: { childSessionId?: string; reason: string },
): RetryEventData | null {
  return (retry.retryPolicy.emitRetryEvents ?? true) ? retryEventData(retry, retry, outcome) : null
}

import { cancelPendingRetry } from '../../store/sql/retry/change-retry.sql.ts'
import { requireChanged, retryCancelledBy, retryTarget, type PendingRetryInput } from './pending-retry.ts'
import { assertMayChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * Cancels a scheduled or held retry; the chain ends with the failed session.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function cancelRetry(context: ServiceContext, input: PendingRetryInput): Promise<{ sessionId: string }> {
  assertMayChange(context.viewer)
  requireChanged(
    input,
    await cancelPendingRetry(context.db, {
      ...retryTarget(context, input),
      reason: retryCancelledBy(context.viewer.name),
    }),
  )
  context.metrics.retries.cancelled.inc()
  // Other sessions may depend on this chain, which may now have failed for good.
  context.wake.wake('events', 'schedule-sessions')
  return { sessionId: input.sessionId }
}

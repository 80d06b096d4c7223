import { cancelPendingRetry } from '../store/sql/change-retry.sql.ts'
import { requireChanged, whoseRetry, type PendingRetryInput } from './pending-retry.ts'
import { assertMayChange } from './authorize.ts'
import type { ServiceContext } from './service-context.ts'

/**
 * Ends a retry that is scheduled or held: the chain stays as it is.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function cancelRetry(context: ServiceContext, input: PendingRetryInput): Promise<{ sessionId: string }> {
  assertMayChange(context.viewer)
  requireChanged(input, await cancelPendingRetry(context.db, whoseRetry(context, input)))
  context.metrics.retries.cancelled.inc()
  // A chain that others depend on may have failed for good.
  context.wake.wake('events', 'schedule-sessions')
  return { sessionId: input.sessionId }
}

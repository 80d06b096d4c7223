import { makeRetryDue } from '../../store/sql/retry/change-retry.sql.ts'
import { requireChanged, retryDueBy, retryTarget, type PendingRetryInput } from './pending-retry.ts'
import { assertMayChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * Makes a scheduled or held retry due now. The same conditions may hold it again.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function retryNow(context: ServiceContext, input: PendingRetryInput): Promise<{ sessionId: string }> {
  assertMayChange(context.viewer)
  requireChanged(
    input,
    await makeRetryDue(context.db, {
      ...retryTarget(context, input),
      reason: retryDueBy(context.viewer.name),
    }),
  )
  context.wake.wake('events', 'dispatch-retries')
  return { sessionId: input.sessionId }
}

import { DISPATCH_BATCH_RETRIES_MAX, DISPATCH_WINDOW_RETRIES_MAX, FENCE_MARGIN_MS } from '../../domain/limits.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import { addChildren } from '../../services/add-children.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Database } from '../../store/database.ts'
import { claimDueRetries, nextRetryInMs, type DueRetry } from '../../store/sql/claim-due-retries.sql.ts'
import type { NewSession } from '../../store/sql/insert-sessions.sql.ts'
import { settleDispatched, settleRefused } from '../../store/sql/settle-retries.sql.ts'
import type { RunReport } from '../background-service.ts'
import { admitRetries } from './admit-retries.ts'
import { retryChildren } from './retry-children.ts'
import { retryEventData } from './retry-event-data.ts'

const BATCH = {
  limit: DISPATCH_BATCH_RETRIES_MAX,
  window: DISPATCH_WINDOW_RETRIES_MAX,
  fenceMarginMs: FENCE_MARGIN_MS,
}

/**
 * Due decisions → children. A child is created in the transaction that books its decision as DISPATCHED, and
 * `sessions.parent_session_id` is unique: whoever crashes, and however many servers are at it, a failed
 * attempt gets one child.
 */
export async function dispatchRetries(context: { db: Database; wake: Wake; sync: SyncPoints }): Promise<RunReport> {
  const claimed = await context.db.transaction(async (tx) => {
    const due = await claimDueRetries(tx, BATCH)
    if (due.length === 0) return 0
    // Two servers that have both found the same retry due; or a person who cancels it meanwhile.
    await context.sync.reached('dispatch:after-claim')
    const { go } = await admitRetries(tx, due)
    const children = await retryChildren(tx, go)
    const refusals = await addChildren(tx, [...children.values()])
    const created = go.filter((retry) => !refusals.has(retry.sessionId))
    await settleDispatched(
      tx,
      created.map((retry) => dispatched(retry, children.get(retry.sessionId)!)),
    )
    await settleRefused(
      tx,
      [...refusals].map(([sessionId, { code, message }]) => ({
        sessionId,
        code,
        explanation: `not retried: the child was refused: ${message}`,
      })),
    )
    await context.sync.reached('dispatch:before-commit')
    return due.length
  })
  if (claimed > 0) context.wake.wake('schedule-sessions', 'events')
  if (claimed === DISPATCH_BATCH_RETRIES_MAX) return { done: claimed, more: true }
  return { done: claimed, againInMs: await nextRetryInMs(context.db) }
}

function dispatched(retry: DueRetry, child: NewSession) {
  const label = `attempt ${child.retryCount + 1} of ${retry.maxRetries + 1}`
  const moved = child.resourceGroup === retry.resourceGroup ? '' : ` in resource group ${child.resourceGroup}`
  return {
    sessionId: retry.sessionId,
    childSessionId: child.id,
    label,
    eventData: retryEventData(retry, child.id, `retried as ${label}${moved}`),
  }
}

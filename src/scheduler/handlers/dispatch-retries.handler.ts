import { v7 as uuidv7 } from 'uuid'
import type { RetryEventData } from '../../domain/events.ts'
import { DISPATCH_BATCH_RETRIES_MAX, DISPATCH_INTERVAL_MS, FENCE_MARGIN_MS } from '../../domain/limits.ts'
import { deriveChild, type ChildShape } from '../../domain/retry/child.ts'
import type { HoldReason } from '../../domain/retry/causes.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import { addChildren } from '../../services/add-children.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Database } from '../../store/database.ts'
import { claimDueRetries, nextRetryInMs, type DueRetry } from '../../store/sql/claim-due-retries.sql.ts'
import type { NewSession } from '../../store/sql/insert-sessions.sql.ts'
import { settleDispatched, settleHeld, settleRefused } from '../../store/sql/settle-retries.sql.ts'
import type { RunReport } from '../background-service.ts'

/**
 * Due decisions → children. A child is created in the transaction that books its decision as DISPATCHED, and
 * `sessions.parent_session_id` is unique: whoever crashes, and however many servers are at it, a failed
 * attempt gets one child.
 */
export async function dispatchRetries(context: { db: Database; wake: Wake; sync: SyncPoints }): Promise<RunReport> {
  const claimed = await context.db.transaction(async (tx) => {
    const due = await claimDueRetries(tx, DISPATCH_BATCH_RETRIES_MAX, FENCE_MARGIN_MS)
    if (due.length === 0) return 0
    // Two servers that have both found the same retry due; or a person who cancels it meanwhile.
    await context.sync.reached('dispatch:after-claim')
    const mayGo = due.filter((retry) => retry.parentAliveMs === 0)
    await settleHeld(tx, due.filter((retry) => retry.parentAliveMs > 0).map(heldForParent))
    const children = new Map(mayGo.map((retry) => [retry.sessionId, childOf(retry)]))
    const refusals = await addChildren(tx, [...children.values()])
    const created = mayGo.filter((retry) => !refusals.has(retry.sessionId))
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

function heldForParent(retry: DueRetry) {
  const reason: HoldReason = 'PARENT_ALIVE'
  const repeated = retry.holdReason === reason
  return {
    sessionId: retry.sessionId,
    holdReason: reason,
    // The agent may confirm earlier, so this is looked at again before the fence has passed.
    againInMs: Math.min(retry.parentAliveMs, DISPATCH_INTERVAL_MS),
    eventData: repeated ? null : eventData(retry, null, 'held: the failed attempt may still run on a silent agent'),
  }
}

function childOf(retry: DueRetry): NewSession {
  const shape = { cause: retry.cause, counted: retry.counted, ...(retry.details as Pick<ChildShape, 'growth' | 'avoid'>) }
  const parent = { ...retry, id: retry.sessionId, chainCreationId: retry.rootCreationId }
  const { epochStartedAt, ...derived } = deriveChild(parent, shape)
  return {
    id: uuidv7(),
    projectId: retry.projectId,
    userId: retry.userId,
    resourceGroup: retry.resourceGroup,
    name: retry.name,
    sessionType: 'BATCH',
    image: retry.image,
    command: retry.command,
    environ: retry.environ,
    clusterMode: retry.clusterMode,
    kernelIds: Array.from({ length: retry.clusterSize }, () => uuidv7()),
    startsAt: null,
    priority: retry.priority,
    labels: retry.labels,
    dependsOnChains: retry.dependsOnChains,
    retryPolicy: retry.retryPolicy,
    retryPolicySources: retry.retryPolicySources,
    allowAgents: retry.allowAgents,
    ...derived,
    epochStartedAt: epochStartedAt.toISOString(),
  }
}

function dispatched(retry: DueRetry, child: NewSession) {
  const label = `attempt ${child.retryCount + 1} of ${retry.maxRetries + 1}`
  return {
    sessionId: retry.sessionId,
    childSessionId: child.id,
    label,
    eventData: eventData(retry, child.id, `retried as ${label}`),
  }
}

function eventData(retry: DueRetry, childSessionId: string | null, reason: string): RetryEventData | null {
  if (!retry.retryPolicy.emitRetryEvents) return null
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

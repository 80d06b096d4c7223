import { cancelPendingRetry, type RetryChangeRequest } from '../../store/sql/retry/change-retry.sql.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import { recordDecisions } from '../../store/sql/retry/record-decisions.sql.ts'
import { lockDecision } from '../../store/sql/retry/update-retry.sql.ts'
import { wakeDependents } from '../../store/sql/session/dependencies.sql.ts'
import { actorOf } from '../access/actor.ts'
import { cancelledDecision } from './decide-session.ts'
import { retryCancelledBy } from './pending-retry.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * Cancels the retry that an ended session waits for, also one that decide-retries is about to schedule. Returns whether
 * there was one.
 */
export async function endWaitingRetry(
  context: ServiceContext,
  { sessionId, reason }: { sessionId: string; reason?: string | null | undefined },
): Promise<boolean> {
  const { viewer } = context
  const request = {
    sessionId,
    visibleProjectId: viewer.projectId,
    actor: actorOf(viewer),
    reason: retryCancelledBy(viewer.name, reason),
  }
  const change = await cancelPendingRetry(context.db, request)
  const ended = change?.phase === null ? await cancelUndecided(context, request) : (change?.changed ?? false)
  if (ended) context.metrics.retries.cancelled.inc()
  return ended
}

async function cancelUndecided(context: ServiceContext, request: RetryChangeRequest): Promise<boolean> {
  const { db, log } = context
  const { sessionId, actor, reason } = request
  return db.transaction(async (tx) => {
    // decide-retries skips the session from here on, or was first.
    await lockDecision(tx, request)
    const [session] = await readUndecided(tx, [sessionId])
    if (!session) return (await cancelPendingRetry(tx, request))?.changed ?? false
    const decision = cancelledDecision(session, log, reason)
    if (decision.phase !== 'CANCELLED') return false
    await recordDecisions(tx, [decision], actor)
    await wakeDependents(tx, [decision.chainId])
    return true
  })
}

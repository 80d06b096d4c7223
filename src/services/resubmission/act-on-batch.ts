import { notFound, type TargetRefusal } from '../../domain/resubmission/refuse.ts'
import type { Queryable } from '../../store/database.ts'
import { lockSessions, type LockedSession } from '../../store/sql/retry/lock-sessions.sql.ts'
import type { HeldResubmission } from '../../store/sql/resubmission/resubmission-batch.sql.ts'
import { changePendingRetries } from '../../store/sql/retry/change-retry.sql.ts'
import { actorNamed } from '../access/actor.ts'
import { endAttempts } from '../retry/end-attempts.ts'
import { refusePendingRetry, retryCancelledBy, retryDueBy } from '../retry/pending-retry.ts'
import { alreadyFinished, terminationReason } from '../session/terminate-session.ts'
import type { BatchContext, BatchWork } from './resubmit-batch.ts'

/**
 * Does to each of these sessions what `terminateSession`, `cancelRetry` or `retryNow` would do to it, by their rules.
 * Lock order: sessions by id, their decisions, then kernels; as resubmissions have it.
 */
export async function actOnBatch(
  tx: Queryable,
  context: BatchContext,
  held: HeldResubmission,
  sessionIds: readonly string[],
): Promise<BatchWork> {
  const sessions = await lockSessions(tx, sessionIds, held.projectId)
  // Races with the dispatcher, with decide-retries, and with the same action for one session.
  await context.sync.reached('resubmit:after-lock')
  const missing = sessionIds.filter((id) => !sessions.has(id))
  const refused = new Map(missing.map((id) => [id, notFound(id)]))
  const found = [...sessions.values()]
  const superseded =
    held.action === 'TERMINATE'
      ? await terminate(tx, context, held, found, refused)
      : await changeRetries(tx, held, found, refused)
  return { targets: sessions, refused, children: new Map(), superseded, decided: [] }
}

async function changeRetries(
  tx: Queryable,
  { action, actor }: HeldResubmission,
  found: readonly LockedSession[],
  refused: Map<string, TargetRefusal>,
): Promise<number> {
  const pending: string[] = []
  for (const { id, retryPhase } of found) {
    const refusal = refusePendingRetry(id, retryPhase)
    if (refusal) refused.set(id, { code: refusal.code, message: refusal.message })
    else pending.push(id)
  }
  const cancels = action === 'CANCEL_RETRY'
  const message = (cancels ? retryCancelledBy : retryDueBy)(actor)
  await changePendingRetries(tx, cancels ? 'cancel' : 'now', { sessionIds: pending, actor: actorNamed(actor), message })
  return cancels ? pending.length : 0
}

async function terminate(
  tx: Queryable,
  { log }: BatchContext,
  { actor: name, options: { force, reason } }: HeldResubmission,
  found: readonly LockedSession[],
  refused: Map<string, TargetRefusal>,
): Promise<number> {
  const { ended, retries } = await endAttempts(tx, found, {
    actor: actorNamed(name),
    force: force ?? false,
    reason: terminationReason(name, reason),
    told: retryCancelledBy(name, reason),
    log,
  })
  for (const { id, status } of found) {
    if (ended.has(id)) continue
    const finished = alreadyFinished(id, status)
    refused.set(id, { code: finished.code, message: finished.message })
  }
  return retries
}

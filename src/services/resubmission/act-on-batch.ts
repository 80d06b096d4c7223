import { LEASE } from '../../domain/agent/lease.ts'
import { notFound, type TargetRefusal } from '../../domain/resubmission.ts'
import { SESSION_ACTIONS, type SessionAction } from '../../domain/session/session-spec.ts'
import { type LockedTarget, readTargets } from '../../store/sql/session/terminate-session.sql.ts'
import { actorNamed, refuseChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { readRefusals } from './try-out.ts'
import type { Queryable } from '../../store/database.ts'
import { changePendingRetries, type LockedSession, lockTails } from '../../store/sql/retry/change-retry.sql.ts'
import {
  type HeldResubmission,
  readPendingItems,
  settleItems,
} from '../../store/sql/resubmission/resubmission-batch.sql.ts'
import { endAttempts } from '../retry/decide-session.ts'
import { retryCancelledBy } from '../../domain/retry/explain.ts'
import { refusePendingRetry, retryDueBy } from '../retry/change-retry.ts'
import { alreadyFinished, terminationReason } from '../session/terminate-session.ts'
import { type BatchContext, type BatchWork, type MadeDecision, resubmitBatch } from './resubmit-batch.ts'
import { RESUBMIT_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'

export interface ActionVerdict {
  action: SessionAction
  /** The message with which the mutation would refuse now; null if it would not. */
  reason: string | null
}

/**
 * Finds the actions that the viewer could take on these sessions now, by the rules of the mutations themselves, each
 * called for one session without options. Sessions that the viewer does not see are missing.
 */
export async function readSessionActions(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  sessionIds: readonly string[],
): Promise<Map<string, ActionVerdict[]>> {
  const found = await readTargets(db, {
    sessionIds,
    visibleProjectId: viewer.projectId,
    fenceMarginMs: LEASE.fenceMarginMs,
    locked: null,
  })
  const targets = [...found.values()]
  const forbidden = refuseChange(viewer)
  if (forbidden) return verdicts(targets, () => forbidden.message)
  const refusals = new Map<SessionAction, Map<string, TargetRefusal>>()
  for (const action of SESSION_ACTIONS) {
    refusals.set(action, await readRefusals({ db, viewer }, targets, { action, taken: null }))
  }
  return verdicts(targets, ({ id }, action) => refusals.get(action)!.get(id)?.message)
}

/**
 * Applies to the chain of each of these sessions what `terminateSession`, `cancelRetry` or `retryNow` would do, by their
 * rules. Lock order: sessions by id, their decisions, then kernels, as in resubmissions.
 */
export async function actOnBatch(
  tx: Queryable,
  context: BatchContext,
  held: HeldResubmission,
  sessionIds: readonly string[],
): Promise<BatchWork> {
  const tails = await lockTails(tx, sessionIds, held.projectId)
  // Races with the dispatcher, with decide-retries, and with the same action for one session.
  await context.sync.reached('resubmit:after-lock')
  const missing = sessionIds.filter((id) => !tails.has(id))
  const refused = new Map(missing.map((id) => [id, notFound(id)]))
  const superseded =
    held.action === 'TERMINATE'
      ? await terminate(tx, context, held, tails, refused)
      : await changeRetries(tx, held, tails, refused)
  return { targets: tails, refused, children: new Map(), superseded, decided: [] }
}

export interface BatchOutcome {
  action: SessionAction
  /** Number of sessions that were processed successfully. */
  done: number
  /** The created children. */
  created: NewSession[]
  refusals: TargetRefusal[]
  /** Number of pending retries that were cancelled or replaced. */
  superseded: number
  /** Decisions about sessions that had none yet. */
  decided: MadeDecision[]
  /** Whether nothing is left to do. */
  finished: boolean
}

/**
 * Processes the next sessions of a resubmission, or of another action on many sessions, that the transaction has
 * locked. A crash undoes the whole batch, and the record still lists it as open.
 */
export async function runBatch(tx: Queryable, context: BatchContext, held: HeldResubmission): Promise<BatchOutcome> {
  const items = await readPendingItems(tx, held.id, RESUBMIT_BATCH_SESSIONS_MAX)
  const sessionIds = items.map(({ sessionId }) => sessionId)
  const { dependentsFrom } = held
  const dependents = items.filter(({ position }) => dependentsFrom !== null && position >= dependentsFrom)
  const { targets, refused, children, superseded, decided } =
    held.action === 'RESUBMIT'
      ? await resubmitBatch(tx, context, held, sessionIds, new Set(dependents.map(({ sessionId }) => sessionId)))
      : await actOnBatch(tx, context, held, sessionIds)
  const settled = items.map(({ position, sessionId }) => {
    const projectId = targets.get(sessionId)?.projectId ?? null
    const { code = null, message = null } = refused.get(sessionId) ?? {}
    return { position, projectId, childSessionId: children.get(sessionId)?.id ?? null, code, message }
  })
  const finished = await settleItems(tx, held.id, settled)
  await context.sync.reached('resubmit:before-commit')
  const refusals = settled.flatMap(({ code, message }) => (code === null ? [] : [{ code, message: message! }]))
  const done = items.length - refusals.length
  return { action: held.action, done, created: [...children.values()], refusals, superseded, decided, finished }
}

function verdicts(
  targets: readonly LockedTarget[],
  refuse: (target: LockedTarget, action: ActionVerdict['action']) => string | undefined,
): Map<string, ActionVerdict[]> {
  return new Map(
    targets.map((target) => [
      target.id,
      SESSION_ACTIONS.map((action) => ({ action, reason: refuse(target, action) ?? null })),
    ]),
  )
}

async function changeRetries(
  tx: Queryable,
  { action, actor }: HeldResubmission,
  tails: ReadonlyMap<string, LockedSession>,
  refused: Map<string, TargetRefusal>,
): Promise<number> {
  const pending = new Set<string>()
  for (const [id, tail] of tails) {
    const refusal = refusePendingRetry(id, tail)
    if (refusal) refused.set(id, { code: refusal.code, message: refusal.message })
    else pending.add(tail.id)
  }
  const cancels = action === 'CANCEL_RETRY'
  const message = (cancels ? retryCancelledBy : retryDueBy)(actor)
  await changePendingRetries(tx, cancels ? 'cancel' : 'now', {
    sessionIds: [...pending],
    actor: actorNamed(actor),
    message,
  })
  return cancels ? pending.size : 0
}

async function terminate(
  tx: Queryable,
  { log }: BatchContext,
  { actor: name, options: { force, reason } }: HeldResubmission,
  tails: ReadonlyMap<string, LockedSession>,
  refused: Map<string, TargetRefusal>,
): Promise<number> {
  const { ended, retries } = await endAttempts(tx, [...new Set(tails.values())], {
    actor: actorNamed(name),
    force: force ?? false,
    reason: terminationReason(name, reason),
    retryNote: retryCancelledBy(name, reason),
    log,
  })
  for (const [id, tail] of tails) {
    if (ended.has(tail.id)) continue
    const finished = alreadyFinished(id, tail)
    refused.set(id, { code: finished.code, message: finished.message })
  }
  return retries
}

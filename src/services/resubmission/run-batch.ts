import { RESUBMIT_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { TargetRefusal } from '../../domain/resubmission/refuse.ts'
import type { SessionAction } from '../../domain/session/session-action.ts'
import type { Queryable } from '../../store/database.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import {
  readPendingItems,
  settleItems,
  type HeldResubmission,
} from '../../store/sql/resubmission/resubmission-batch.sql.ts'
import { actOnBatch } from './act-on-batch.ts'
import { resubmitBatch, type BatchContext, type MadeDecision } from './resubmit-batch.ts'

export interface BatchOutcome {
  action: SessionAction
  /** How many sessions it was done to. */
  done: number
  /** Children. */
  created: NewSession[]
  refusals: TargetRefusal[]
  /** Pending retries that were cancelled or replaced. */
  superseded: number
  /** Decisions about sessions that had none yet. */
  decided: MadeDecision[]
  /** Nothing is left to do. */
  finished: boolean
}

/**
 * Does what was asked for to the next sessions of a resubmission, or of another action on many sessions, that the
 * transaction has locked. A crash leaves nothing of the batch, and the record says what is left to do.
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

import { describeFull, type Owner } from '../../domain/quota/pending-places.ts'
import type { ResubmissionOverrides } from '../../domain/resubmission/overrides.ts'
import { creationIdReused, refuseTarget, type TargetRefusal } from '../../domain/resubmission/refuse.ts'
import type { SessionAction } from '../../domain/session/session-action.ts'
import { isTerminal } from '../../domain/session/statuses.ts'
import type { Queryable } from '../../store/database.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import { readByCreationId } from '../../store/sql/session/creation-scope.sql.ts'
import type { LockedTarget } from '../../store/sql/session/lock-targets.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { readPendingPlaces } from '../quota/pending-limits.ts'
import { cancelledDecision } from '../retry/decide-session.ts'
import { refusePendingRetry } from '../retry/pending-retry.ts'
import { alreadyFinished } from '../session/terminate-session.ts'
import { readOverrideScope, resubmittedChild } from './resubmitted-child.ts'

export interface Wanted {
  action: SessionAction
  overrides?: ResubmissionOverrides
  includeSucceeded?: boolean
  /** Whose places among the pending sessions are taken before, and by each session that is not refused; null: each session is looked at as if it were the only one. */
  taken: Owner[] | null
}

/** Whoever decides for good logs what is wrong with a session. */
const UNLOGGED = { error() {} }

/** Why it would not be done to these sessions now, by the rules of the mutations; those that it would be done to are missing. */
export async function readRefusals(
  db: Queryable,
  targets: readonly LockedTarget[],
  wanted: Wanted,
): Promise<Map<string, TargetRefusal>> {
  if (wanted.action === 'RESUBMIT') return refuseResubmissions(db, targets, wanted)
  const cancellable = wanted.action === 'TERMINATE' ? await readCancellable(db, targets) : null
  const refused = new Map<string, TargetRefusal>()
  for (const target of targets) {
    const refusal =
      cancellable === null ? refusePendingRetry(target.id, target.retryPhase) : refuseTermination(target, cancellable)
    if (refusal) refused.set(target.id, { code: refusal.code, message: refusal.message })
  }
  return refused
}

/** Terminating a session that has ended cancels the retry that it waits for. */
function refuseTermination({ id, status, retryPhase }: LockedTarget, cancellable: ReadonlySet<string>) {
  if (!isTerminal(status) || cancellable.has(id)) return undefined
  return refusePendingRetry(id, retryPhase) && alreadyFinished(id, status)
}

/** Sessions that have ended and whose retry is about to be scheduled. */
async function readCancellable(db: Queryable, targets: readonly LockedTarget[]): Promise<Set<string>> {
  const undecided = targets.filter(({ status, retryDecided }) => isTerminal(status) && !retryDecided)
  const sessions = await readUndecided(
    db,
    undecided.map(({ id }) => id),
  )
  const cancelled = sessions.filter((session) => cancelledDecision(session, UNLOGGED, '').phase === 'CANCELLED')
  return new Set(cancelled.map(({ id }) => id))
}

async function refuseResubmissions(
  db: Queryable,
  targets: readonly LockedTarget[],
  { overrides = {}, includeSucceeded = false, taken }: Wanted,
): Promise<Map<string, TargetRefusal>> {
  const scope = await readOverrideScope(db, overrides)
  const refused = new Map<string, TargetRefusal>()
  const children = new Map<string, NewSession>()
  for (const target of targets) {
    const planned =
      refuseTarget(target, includeSucceeded) ?? resubmittedChild(target, target.failureCause, overrides, scope)
    if ('id' in planned) children.set(target.id, planned)
    else refused.set(target.id, planned)
  }
  if (children.size === 0) return refused
  const planned = [...children.values()]
  const known = await readByCreationId(db, planned)
  const places = await readPendingPlaces(db, planned)
  for (const owner of taken ?? []) places.take(owner)
  for (const [sessionId, child] of children) {
    const full = places.fullFor(child)
    if (known.has(`${child.projectId}/${child.creationId}`)) refused.set(sessionId, creationIdReused(child.creationId))
    else if (full) refused.set(sessionId, { code: 'QUOTA_EXCEEDED', message: describeFull(full) })
    else if (taken) {
      places.take(child)
      taken.push({ projectId: child.projectId, userId: child.userId })
    }
  }
  return refused
}

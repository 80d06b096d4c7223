import { LEASE } from '../../domain/agent/lease.ts'
import type { RepriseError } from '../../domain/errors.ts'
import { describeFull } from '../../domain/quota/pending-places.ts'
import { creationIdReused, refuseTarget } from '../../domain/resubmission/refuse.ts'
import { SESSION_ACTIONS, type SessionAction } from '../../domain/session/session-action.ts'
import { isTerminal } from '../../domain/session/statuses.ts'
import type { Queryable } from '../../store/database.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import { readByCreationId } from '../../store/sql/session/creation-scope.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { readTargets, type LockedTarget } from '../../store/sql/session/lock-targets.sql.ts'
import { refuseChange } from '../access/authorize.ts'
import { readPendingPlaces } from '../quota/pending-limits.ts'
import { cancelledDecision } from '../retry/decide-session.ts'
import { refusePendingRetry } from '../retry/pending-retry.ts'
import type { ServiceContext } from '../service-context.ts'
import { alreadyFinished } from '../session/terminate-session.ts'
import { resubmittedChild } from './resubmitted-child.ts'

export interface ActionVerdict {
  action: SessionAction
  /** The message with which the mutation would refuse now; null if it would not. */
  reason: string | null
}

/** Whoever decides for good logs what is wrong with a session. */
const UNLOGGED = { error() {} }

/**
 * What the viewer could do with these sessions now, by the rules of the mutations themselves, each called for one
 * session, without options. Sessions that the viewer does not see are missing.
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
  const cancellable = await readCancellable(db, targets)
  const resubmissions = await refuseResubmissions(db, targets)
  return verdicts(targets, (target, action) => {
    if (action === 'RESUBMIT') return resubmissions.get(target.id)
    if (action === 'TERMINATE') return refuseTermination(target, cancellable)?.message
    return refusePendingRetry(target.id, target.retryPhase)?.message
  })
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

/** Terminating a session that has ended cancels the retry that it waits for. */
function refuseTermination(
  { id, status, retryPhase }: LockedTarget,
  cancellable: ReadonlySet<string>,
): RepriseError | undefined {
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

/** By session: why it alone would not be resubmitted as it is. */
async function refuseResubmissions(db: Queryable, targets: readonly LockedTarget[]): Promise<Map<string, string>> {
  const refused = new Map<string, string>()
  const children = new Map<string, NewSession>()
  for (const target of targets) {
    const planned =
      refuseTarget(target, false) ??
      resubmittedChild(target, target.failureCause, {}, { groups: new Set(), agents: new Map() })
    if ('id' in planned) children.set(target.id, planned)
    else refused.set(target.id, planned.message)
  }
  if (children.size === 0) return refused
  const planned = [...children.values()]
  const known = await readByCreationId(db, planned)
  const places = await readPendingPlaces(db, planned)
  for (const [sessionId, child] of children) {
    const full = places.fullFor(child)
    if (known.has(`${child.projectId}/${child.creationId}`)) {
      refused.set(sessionId, creationIdReused(child.creationId).message)
    } else if (full) refused.set(sessionId, describeFull(full))
  }
  return refused
}

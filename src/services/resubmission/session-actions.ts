import { LEASE } from '../../domain/agent/lease.ts'
import type { TargetRefusal } from '../../domain/resubmission/refuse.ts'
import { SESSION_ACTIONS, type SessionAction } from '../../domain/session/session-action.ts'
import { readTargets, type LockedTarget } from '../../store/sql/session/lock-targets.sql.ts'
import { refuseChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { readRefusals } from './read-refusals.ts'

export interface ActionVerdict {
  action: SessionAction
  /** The message with which the mutation would refuse now; null if it would not. */
  reason: string | null
}

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
  const refusals = new Map<SessionAction, Map<string, TargetRefusal>>()
  for (const action of SESSION_ACTIONS) refusals.set(action, await readRefusals(db, targets, { action, taken: null }))
  return verdicts(targets, ({ id }, action) => refusals.get(action)!.get(id)?.message)
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

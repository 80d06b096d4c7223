import { notFound, refuseTarget, type TargetRefusal } from '../../domain/resubmission/refuse.ts'
import type { FailureCause } from '../../domain/session/causes.ts'
import type { Logger } from '../../observability/log.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import { attributeReopenings } from '../../store/sql/resubmission/attribute-reopenings.sql.ts'
import { beginGenerations } from '../../store/sql/resubmission/begin-generations.sql.ts'
import type { HeldResubmission } from '../../store/sql/resubmission/resubmission-batch.sql.ts'
import { supersedePendingRetries } from '../../store/sql/retry/change-retry.sql.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import { recordDecisions, type DecisionRow } from '../../store/sql/retry/record-decisions.sql.ts'
import { lockTargets, type LockedTarget } from '../../store/sql/session/lock-targets.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { actorNamed } from '../access/actor.ts'
import { cancelledDecision } from '../retry/decide-session.ts'
import { insertChildren } from './insert-children.ts'
import { readOverrideScope, resubmittedChild, type OverrideScope } from './resubmitted-child.ts'

/** What a batch of an action has done, by session. */
export interface BatchWork {
  /** By session; those that the actor does not see are missing. */
  targets: ReadonlyMap<string, { projectId: string }>
  refused: ReadonlyMap<string, TargetRefusal>
  /** By the session that was resubmitted. */
  children: ReadonlyMap<string, NewSession>
  superseded: number
  decided: MadeDecision[]
}

export interface BatchContext {
  log: Logger
  sync: SyncPoints
  /** Beyond a group's `fenceAfter`, until a silent agent's kernels are certain to be gone. */
  fenceMarginMs: number
}

/**
 * Resubmits some targets of a resubmission that the transaction has locked: children and decisions. Lock
 * order: the resubmission, sessions by id, their decisions; then children are written, and checkpoints by chain. A
 * dispatcher locks decisions and skips those that are locked; decide-retries does the same with sessions. So the first
 * one decides, and the others see its result. `dependents` are those among the sessions that come back because they
 * depend on others. Should all of this fail, `sessions.parent_session_id` is unique.
 */
export async function resubmitBatch(
  tx: Queryable,
  context: BatchContext,
  resubmission: HeldResubmission,
  sessionIds: readonly string[],
  dependents: ReadonlySet<string>,
): Promise<BatchWork> {
  const { id, projectId, overrides, includeSucceeded } = resubmission
  const { fenceMarginMs } = context
  const targets = await lockTargets(tx, { sessionIds, visibleProjectId: projectId, fenceMarginMs })
  const undecided = await decideForResubmission(tx, resubmission, [...targets.values()], context.log)
  // Races with a dispatcher, with decide-retries, and with a second resubmission of the same sessions.
  await context.sync.reached('resubmit:after-lock')
  const scope = await readOverrideScope(tx, overrides)
  const planned = new Map(
    sessionIds.map((sessionId) => [
      sessionId,
      plan(sessionId, targets, {
        // Dependents did not fail: they come back as they were.
        overrides: dependents.has(sessionId) ? {} : overrides,
        includeSucceeded,
        scope,
        undecided,
      }),
    ]),
  )
  const children = [...planned.values()].filter((child): child is NewSession => 'id' in child)
  const refused = await insertChildren(tx, children, dependents)
  const created = children.filter(({ parentSessionId }) => !refused.has(parentSessionId!))
  const reopened = created.map(({ id: childId }) => childId)
  if (overrides.freshCheckpoint === true) {
    const fresh = created.filter(({ parentSessionId }) => !dependents.has(parentSessionId!))
    const chainIds = fresh.map(({ chainId }) => chainId)
    await beginGenerations(tx, chainIds)
  }
  await attributeReopenings(tx, reopened, `resubmitted by ${resubmission.actor}`)
  const parents = created.map(({ parentSessionId }) => parentSessionId!)
  const decided = await undecided.record(new Set(parents))
  const reason = `superseded by resubmission ${id} by ${resubmission.actor}`
  const superseded = await supersedePendingRetries(tx, {
    sessionIds: parents,
    actor: actorNamed(resubmission.actor),
    reason,
  })
  for (const [sessionId, each] of planned) if (!('id' in each)) refused.set(sessionId, each)
  return {
    targets,
    refused,
    children: new Map(created.map((child) => [child.parentSessionId!, child])),
    superseded,
    decided,
  }
}

interface Plan {
  overrides: HeldResubmission['overrides']
  includeSucceeded: boolean
  scope: OverrideScope
  undecided: Awaited<ReturnType<typeof decideForResubmission>>
}

function plan(
  sessionId: string,
  targets: ReadonlyMap<string, LockedTarget>,
  { overrides, includeSucceeded, scope, undecided }: Plan,
): NewSession | TargetRefusal {
  const target = targets.get(sessionId)
  if (!target) return notFound(sessionId)
  const cause = undecided.causes.has(sessionId) ? undecided.causes.get(sessionId)! : target.failureCause
  return refuseTarget(target, includeSucceeded) ?? resubmittedChild(target, cause, overrides, scope)
}

export type MadeDecision = Pick<DecisionRow, 'phase' | 'cause'>

/**
 * Decisions about sessions that were resubmitted before they were decided: the same as decide-retries would make,
 * except that a retry it would schedule is cancelled from the start. Every finished batch session has one decision.
 * decide-retries skips sessions locked by this transaction, and finds nothing left to decide afterwards.
 */
async function decideForResubmission(
  tx: Queryable,
  { id, actor }: HeldResubmission,
  targets: readonly LockedTarget[],
  log: Logger,
) {
  const open = targets.filter(({ locked, retryDecided }) => locked && !retryDecided)
  const sessions = await readUndecided(
    tx,
    open.map((target) => target.id),
  )
  const reason = `superseded by resubmission ${id} by ${actor}`
  const rows = sessions.map((session) => cancelledDecision(session, log, reason))
  return {
    /** Failure causes, by session. */
    causes: new Map<string, FailureCause | null>(rows.map(({ sessionId, cause }) => [sessionId, cause])),
    /** For those that now have a child; the others are decided as usual. */
    async record(parents: ReadonlySet<string>): Promise<MadeDecision[]> {
      const made = rows.filter(({ sessionId }) => parents.has(sessionId))
      await recordDecisions(tx, made, actorNamed(actor))
      return made
    },
  }
}

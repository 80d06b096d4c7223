import {
  applyOverrides,
  creationIdReused,
  dependencyFailed,
  deriveResubmission,
  hasChild,
  notFound,
  partition,
  refuseTarget,
  type ResubmissionOverrides,
  type TargetRefusal,
} from '../../domain/resubmission.ts'
import type { FailureCause } from '../../domain/session/failure.ts'
import type { Logger } from '../../observability/log.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import { attributeReopenings, beginGenerations } from '../../store/sql/resubmission/open-resubmission.sql.ts'
import type { HeldResubmission } from '../../store/sql/resubmission/resubmission-batch.sql.ts'
import { supersedePendingRetries } from '../../store/sql/retry/change-retry.sql.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import { type DecisionRow, recordDecisions } from '../../store/sql/retry/record-decisions.sql.ts'
import { type LockedTarget, lockTargets } from '../../store/sql/session/terminate-session.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { actorNamed } from '../access/authorize.ts'
import { cancelledDecision } from '../retry/decide-session.ts'
import { useCodeOfProjects } from '../../store/sql/code.sql.ts'
import { readAgentGroups } from '../../store/sql/agent/agents.sql.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { childSession } from '../session/plan-attempt.ts'
import { readFailedChains } from '../../store/sql/resubmission/read-resubmission.sql.ts'
import { readChildIds } from '../../store/sql/session/read-sessions.sql.ts'
import { addSessions } from '../session/create-sessions.ts'

/** The results of a batch, by session. */
export interface BatchWork {
  /** Locked targets by session; those that the actor does not see are missing. */
  targets: ReadonlyMap<string, { projectId: string }>
  refused: ReadonlyMap<string, TargetRefusal>
  /** Children by the session that was resubmitted. */
  children: ReadonlyMap<string, NewSession>
  superseded: number
  decided: MadeDecision[]
}

export interface BatchContext {
  log: Logger
  sync: SyncPoints
  /** Added to a group's `fenceAfter`: after both, a silent agent's kernels are certain to be gone. */
  fenceMarginMs: number
}

/**
 * Resubmits some targets of a resubmission that the transaction has locked: writes children and decisions. Lock order:
 * the resubmission, sessions by id, their decisions; then children are written, and checkpoints by chain. A dispatcher
 * locks decisions and skips those that are locked; decide-retries does the same with sessions. So the first transaction
 * decides, and the others see its result. `dependents` are the sessions that are resubmitted because they depend on
 * others. As the last safeguard, `sessions.parent_session_id` is unique.
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
        // Dependents did not fail, so overrides do not apply to them.
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

export type MadeDecision = Pick<DecisionRow, 'phase' | 'cause'>

/** Existing objects that overrides may name. */
interface OverrideScope {
  groups: ReadonlySet<string>
  /** Resource groups by agent. */
  agents: ReadonlyMap<string, string>
  /** Projects that have the code. */
  codeProjects: ReadonlySet<string>
}

export async function readOverrideScope(
  db: Queryable,
  { resourceGroup, allowAgents = [], codeSha256 }: ResubmissionOverrides,
): Promise<OverrideScope> {
  const groups = resourceGroup === undefined ? [] : [...(await readGroupScopes(db, [resourceGroup]))]
  return {
    groups: new Set(groups.flatMap(([name, { allowed }]) => (allowed.includes('BATCH') ? [name] : []))),
    agents: allowAgents.length === 0 ? new Map() : await readAgentGroups(db, allowAgents),
    codeProjects: codeSha256 === undefined ? new Set() : await useCodeOfProjects(db, codeSha256),
  }
}

/** Derives the child of a resubmitted session, or the reason why the overrides do not allow one. */
export function resubmittedChild(
  target: LockedTarget,
  cause: FailureCause | null,
  overrides: ResubmissionOverrides,
  scope: OverrideScope,
): NewSession | TargetRefusal {
  const spec = applyOverrides(target, overrides)
  if (typeof spec === 'string') return { code: 'VALIDATION_FAILED', message: `session ${target.id}: ${spec}` }
  const { resourceGroup } = spec
  if (overrides.resourceGroup !== undefined && !scope.groups.has(resourceGroup)) {
    return { code: 'RESOURCE_GROUP_NOT_FOUND', message: `no resource group ${resourceGroup}` }
  }
  const { allowAgents = [], codeSha256 } = overrides
  if (codeSha256 !== undefined && !scope.codeProjects.has(target.projectId)) {
    const message = `the project of session ${target.id} has no uploaded code ${codeSha256}`
    return { code: 'CODE_NOT_FOUND', message }
  }
  if (allowAgents.length > 0 && !allowAgents.some((id) => scope.agents.get(id) === resourceGroup)) {
    const message = `session ${target.id} is in the resource group ${resourceGroup}, and none of allowAgents is`
    return { code: 'VALIDATION_FAILED', message }
  }
  try {
    const own = deriveResubmission({ ...target, chainCreationId: target.rootCreationId }, cause)
    return childSession({ ...target, rootCreationId: target.rootCreationId! }, { ...spec, ...own })
  } catch (error) {
    return { code: 'CHAIN_UNREADABLE', message: `session ${target.id}: ${(error as Error).message}` }
  }
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

/**
 * Decides about sessions that were resubmitted before they had a decision: as decide-retries would, except that a retry
 * it would schedule is cancelled from the start. Every finished batch session has one decision. decide-retries skips
 * sessions locked by this transaction, and finds nothing left to decide afterwards.
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
    /** Failure causes by session. */
    causes: new Map<string, FailureCause | null>(rows.map(({ sessionId, cause }) => [sessionId, cause])),
    /** Records the decisions of sessions that now have a child; the others are decided as usual. */
    async record(parents: ReadonlySet<string>): Promise<MadeDecision[]> {
      const made = rows.filter(({ sessionId }) => parents.has(sessionId))
      await recordDecisions(tx, made, actorNamed(actor))
      return made
    },
  }
}

/**
 * Writes children. A dependent's child is written only when none of the chains that it waits for has failed, so after
 * the children of the same batch that reopen such a chain. Returns by parent why children were not written. Needs as
 * many statements as there are steps from a dependent to the chains that it waits for.
 */
async function insertChildren(
  tx: Queryable,
  children: readonly NewSession[],
  dependents: ReadonlySet<string>,
): Promise<Map<string, TargetRefusal>> {
  const [after, first] = partition(children, ({ parentSessionId }) => dependents.has(parentSessionId!))
  const refused = await insert(tx, first)
  let left = after
  while (left.length > 0) {
    const failed = await readFailedChains(
      tx,
      left.flatMap(({ dependsOnChains }) => dependsOnChains),
    )
    const waitsFor = ({ dependsOnChains }: NewSession) => dependsOnChains.find((chainId) => failed.has(chainId))
    const [ready, later] = partition(left, (child) => waitsFor(child) === undefined)
    if (ready.length === 0) {
      for (const child of later) {
        const parentId = child.parentSessionId!
        refused.set(parentId, dependencyFailed(parentId, failed.get(waitsFor(child)!)!))
      }
      break
    }
    for (const [parentId, refusal] of await insert(tx, ready)) refused.set(parentId, refusal)
    left = later
  }
  return refused
}

/** Inserts children; refusals are due to a quota, an existing child, or a creation id in use. */
async function insert(tx: Queryable, children: readonly NewSession[]): Promise<Map<string, TargetRefusal>> {
  const { inserted, refused } = await addSessions(tx, children, { actor: null, transact: (work) => work(tx) })
  const missing = children.filter(({ id }) => !inserted.has(id))
  const others = await readChildIds(
    tx,
    missing.map(({ parentSessionId }) => parentSessionId!),
  )
  return new Map(
    missing.map(({ id, parentSessionId: parentId, creationId }) => {
      const full = refused.get(id)
      const childId = others.get(parentId!)
      if (full) return [parentId!, { code: full.code, message: full.message }]
      if (childId) return [parentId!, hasChild(parentId!, childId)]
      return [parentId!, creationIdReused(creationId)]
    }),
  )
}

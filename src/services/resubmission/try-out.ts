import { LEASE } from '../../domain/agent/lease.ts'
import type { ErrorCode, RepriseError } from '../../domain/errors.ts'
import { DRY_RUN_SESSIONS_MAX, SESSION_IDS_PER_READ_MAX } from '../../domain/limits.ts'
import { describeFull, type Owner } from '../../domain/quota.ts'
import {
  creationIdReused,
  dependencyFailed,
  type Dependent,
  notFound,
  partition,
  refuseTarget,
  type ResubmissionOverrides,
  type TargetRefusal,
} from '../../domain/resubmission.ts'
import { readFailedChains } from '../../store/sql/resubmission/read-resubmission.sql.ts'
import { type LockedTarget, readTargets } from '../../store/sql/session/terminate-session.sql.ts'
import { refuseForeignWork } from '../access/authorize.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import type { BulkRequest } from './resubmission-input.ts'
import type { SessionAction } from '../../domain/session/session-spec.ts'
import { isTerminal } from '../../domain/session/lifecycle.ts'
import type { Queryable } from '../../store/database.ts'
import { readNewestAttempts } from '../../store/sql/retry/change-retry.sql.ts'
import { readUndecided } from '../../store/sql/retry/claim-undecided.sql.ts'
import { readByCreationId } from '../../store/sql/session/creation-scope.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { readPendingPlaces } from '../quota.ts'
import { cancelledDecision } from '../retry/decide-session.ts'
import { refusePendingRetry } from '../retry/change-retry.ts'
import { alreadyFinished } from '../session/terminate-session.ts'
import { readOverrideScope, resubmittedChild } from './resubmit-batch.ts'

/** Refusals for one reason. */
export interface RefusalGroup {
  code: ErrorCode
  count: number
  /** The message of the first of them. */
  message: string
}

export interface DryRun {
  /** Number of sessions that are named or match. */
  total: number
  /** Number of these sessions that would be processed in their present state. */
  count: number
  /**
   * Number of sessions that were cancelled because chains of these failed; they are included in the others only on
   * request.
   */
  cancelledDependents: number
  /** The first sessions that would be processed, oldest first. */
  sessionIds: string[]
  /** Reasons for refusing the others, the most frequent first. */
  refusals: RefusalGroup[]
}

/**
 * Predicts the result of an action: how many of these sessions would be processed, the first of them, and why the
 * others would be refused. Nothing is locked, so the result may be outdated at once.
 */
export async function tryOut(
  { db, viewer }: Pick<ServiceContext, 'viewer' | 'db'>,
  { action, overrides, includeSucceeded, includeDependents }: BulkRequest,
  selected: readonly string[],
  dependents: readonly (readonly Dependent[])[],
): Promise<DryRun> {
  const ids = [...new Set(selected)].toSorted()
  const possible: string[] = []
  const reopened = new Set<string>()
  const groups = new Map<ErrorCode, RefusalGroup>()
  const taken: Owner[] = []

  async function look(sessionIds: readonly string[], given: ResubmissionOverrides): Promise<void> {
    const targets = await readTargets(db, {
      sessionIds,
      visibleProjectId: viewer.projectId,
      fenceMarginMs: LEASE.fenceMarginMs,
      locked: null,
    })
    const found = sessionIds.flatMap((id) => targets.get(id) ?? [])
    const refused = await readRefusals({ db, viewer }, found, { action, overrides: given, includeSucceeded, taken })
    for (const id of sessionIds) {
      const target = targets.get(id)
      const refusal = target ? refused.get(id) : notFound(id)
      if (refusal) countRefusal(groups, refusal)
      else possible.push(id)
      if (target && !refusal) reopened.add(target.chainId)
    }
  }

  for (const some of splitForReads(ids))
    await look(some, action === 'RESUBMIT' ? (overrides as ResubmissionOverrides) : {})
  const included = includeDependents ? dependents : []
  for (const some of included.flatMap(splitForReads)) {
    const failed = await readFailedChains(
      db,
      some.flatMap(({ dependsOn }) => dependsOn),
    )
    const waitsFor = ({ dependsOn }: Dependent) => dependsOn.find((id) => failed.has(id) && !reopened.has(id))
    const [ready, later] = partition(some, (each) => waitsFor(each) === undefined)
    for (const each of later) countRefusal(groups, dependencyFailed(each.id, failed.get(waitsFor(each)!)!))
    await look(
      ready.map(({ id }) => id),
      {},
    )
  }
  const cancelledDependents = dependents.flat().length
  return {
    total: ids.length + (includeDependents ? cancelledDependents : 0),
    count: possible.length,
    cancelledDependents,
    sessionIds: possible.slice(0, DRY_RUN_SESSIONS_MAX),
    refusals: [...groups.values()].toSorted(
      (one, other) => other.count - one.count || (one.code < other.code ? -1 : 1),
    ),
  }
}

interface Wanted {
  action: SessionAction
  overrides?: ResubmissionOverrides
  includeSucceeded?: boolean
  /**
   * Owners of sessions that take places among the pending sessions before these. Each session that is not refused takes
   * a place as well. Null judges each session as if it were the only one.
   */
  taken: Owner[] | null
}

/** A trial decision: only the real one logs errors. */
const NO_LOG = { error() {} }

/** Explains which of these sessions would be refused, by the rules of the mutations; the others are missing. */
export async function readRefusals(
  { db, viewer }: { db: Queryable; viewer: Viewer },
  targets: readonly LockedTarget[],
  wanted: Wanted,
): Promise<Map<string, TargetRefusal>> {
  if (wanted.action === 'RESUBMIT') return refuseResubmissions(db, targets, wanted)
  const tails = await readTails(db, targets)
  const refused =
    wanted.action === 'TERMINATE'
      ? await refuseTerminations(db, targets, tails)
      : refusalsOf(targets, ({ id }) => refusePendingRetry(id, tails.get(id)!))
  if (wanted.action === 'RETRY_NOW') return refused
  const ids = targets.map(({ id }) => id)
  for (const [id, { code, message }] of await refuseForeignWork({ db, viewer }, 'session', ids)) {
    refused.set(id, { code, message })
  }
  return refused
}

/** Splits ids into parts that one statement can read. */
function splitForReads<Each>(all: readonly Each[]): Each[][] {
  const count = Math.ceil(all.length / SESSION_IDS_PER_READ_MAX)
  return Array.from({ length: count }, (_, n) =>
    all.slice(n * SESSION_IDS_PER_READ_MAX, (n + 1) * SESSION_IDS_PER_READ_MAX),
  )
}

function countRefusal(groups: Map<ErrorCode, RefusalGroup>, { code, message }: TargetRefusal): void {
  const group = groups.get(code) ?? { code, count: 0, message }
  group.count++
  groups.set(code, group)
}

function refusalsOf(
  targets: readonly LockedTarget[],
  refuse: (target: LockedTarget) => RepriseError | undefined,
): Map<string, TargetRefusal> {
  return new Map(
    targets.flatMap((target): [string, TargetRefusal][] => {
      const refusal = refuse(target)
      return refusal ? [[target.id, { code: refusal.code, message: refusal.message }]] : []
    }),
  )
}

type Tail = Pick<LockedTarget, 'id' | 'status' | 'retryDecided' | 'retryPhase'>

/** Reads the newest attempt of the chain of each of these sessions, by the session's id. */
async function readTails(db: Queryable, targets: readonly LockedTarget[]): Promise<Map<string, Tail>> {
  const older = targets.filter(({ childSessionId }) => childSessionId !== null)
  const newest = await readNewestAttempts(
    db,
    older.map(({ id }) => id),
  )
  return new Map(targets.map((target) => [target.id, newest.get(target.id) ?? target]))
}

/** A session names its chain: only a chain without a live attempt and without a waiting retry is refused. */
async function refuseTerminations(
  db: Queryable,
  targets: readonly LockedTarget[],
  tails: ReadonlyMap<string, Tail>,
): Promise<Map<string, TargetRefusal>> {
  const cancellable = await readCancellable(db, [...new Set(tails.values())])
  return refusalsOf(targets, ({ id }) => {
    const tail = tails.get(id)!
    if (!isTerminal(tail.status) || cancellable.has(tail.id)) return undefined
    return refusePendingRetry(tail.id, tail) && alreadyFinished(id, tail)
  })
}

/** Finds sessions that have ended and whose retry is about to be scheduled. */
async function readCancellable(db: Queryable, targets: readonly Tail[]): Promise<Set<string>> {
  const undecided = targets.filter(({ status, retryDecided }) => isTerminal(status) && !retryDecided)
  const sessions = await readUndecided(
    db,
    undecided.map(({ id }) => id),
  )
  const cancelled = sessions.filter((session) => cancelledDecision(session, NO_LOG, '').phase === 'CANCELLED')
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

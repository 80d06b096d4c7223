import { LEASE } from '../../domain/agent/lease.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import { DRY_RUN_SESSIONS_MAX, SESSION_IDS_PER_READ_MAX } from '../../domain/limits.ts'
import type { Owner } from '../../domain/quota/pending-places.ts'
import type { ResubmissionOverrides } from '../../domain/resubmission/overrides.ts'
import { partition, type Dependent } from '../../domain/resubmission/order-dependents.ts'
import { dependencyFailed, notFound, type TargetRefusal } from '../../domain/resubmission/refuse.ts'
import { readFailedChains } from '../../store/sql/resubmission/dependents.sql.ts'
import { readTargets } from '../../store/sql/session/lock-targets.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { readRefusals } from './read-refusals.ts'
import type { BulkRequest } from './resubmission-input.ts'

/** Refusals for one reason. */
export interface RefusalGroup {
  code: ErrorCode
  count: number
  /** Of the first of them. */
  message: string
}

export interface DryRun {
  /** Sessions that are named or match. */
  total: number
  /** Of these, those that it would be done to as they are now. */
  count: number
  /** Sessions that were cancelled because chains of these failed; counted among them only on request. */
  cancelledDependents: number
  /** The first of them, oldest first. */
  sessionIds: string[]
  /** Why not to the others; the most frequent reason first. */
  refusals: RefusalGroup[]
}

/** To how many of these sessions it would be done, to which first, and why not to the others. Nothing is locked: it may change at once. */
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
    const refused = await readRefusals(db, found, { action, overrides: given, includeSucceeded, taken })
    for (const id of sessionIds) {
      const target = targets.get(id)
      const refusal = target ? refused.get(id) : notFound(id)
      if (refusal) addTo(groups, refusal)
      else possible.push(id)
      if (target && !refusal) reopened.add(target.chainId)
    }
  }

  for (const some of inReads(ids)) await look(some, action === 'RESUBMIT' ? (overrides as ResubmissionOverrides) : {})
  const included = includeDependents ? dependents : []
  for (const some of included.flatMap(inReads)) {
    const failed = await readFailedChains(
      db,
      some.flatMap(({ dependsOn }) => dependsOn),
    )
    const waitsFor = ({ dependsOn }: Dependent) => dependsOn.find((id) => failed.has(id) && !reopened.has(id))
    const [ready, later] = partition(some, (each) => waitsFor(each) === undefined)
    for (const each of later) addTo(groups, dependencyFailed(each.id, failed.get(waitsFor(each)!)!))
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

/** As many at once as one statement reads. */
function inReads<Each>(all: readonly Each[]): Each[][] {
  const count = Math.ceil(all.length / SESSION_IDS_PER_READ_MAX)
  return Array.from({ length: count }, (_, n) =>
    all.slice(n * SESSION_IDS_PER_READ_MAX, (n + 1) * SESSION_IDS_PER_READ_MAX),
  )
}

function addTo(groups: Map<ErrorCode, RefusalGroup>, { code, message }: TargetRefusal): void {
  const group = groups.get(code) ?? { code, count: 0, message }
  group.count++
  groups.set(code, group)
}

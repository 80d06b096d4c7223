import { type AgentCapacity, avoidedInOrder, createAgentPool } from '../../domain/scheduling/agent-pool.ts'
import { byDominantShare, inOrderOfAge, type Sequence } from '../../domain/scheduling/sequence.ts'
import { type CheckpointPlacement, preferring } from '../../domain/scheduling/checkpoint-placement.ts'
import { place, type PlaceableSession, type Placement } from '../../domain/scheduling/place.ts'
import {
  addQuantities,
  parseQuantities,
  type Quantity,
  resourceRequest,
} from '../../domain/scheduling/resource-request.ts'
import type { KeyUse, QuotaUse } from '../../domain/scheduling/quota-use.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import { readAgentCapacity } from '../../store/sql/scheduling/agent-capacity.sql.ts'
import {
  assignKernels,
  type LockedGroup,
  recordOvertaken,
  recordTurn,
} from '../../store/sql/scheduling/assign-kernels.sql.ts'
import type { PendingSession } from '../../store/sql/scheduling/claim-pending.sql.ts'
import type { PendingGroup } from '../../store/sql/scheduling/pending-groups.sql.ts'
import { lockQuotaUse, readUseByOwner } from '../../store/sql/scheduling/quota-use.sql.ts'
import { type ConcurrencyKey, lockKeyUse, settleKeys } from '../../store/sql/scheduling/concurrency-keys.sql.ts'

/** Places sessions on the agents of their group and records the assignments. */
export async function placePending(
  tx: Queryable,
  group: PendingGroup & LockedGroup,
  sessions: readonly PendingSession[],
  checkpoints: ReadonlyMap<string, CheckpointPlacement>,
  sync: SyncPoints,
): Promise<Placement> {
  const quotasOf = group.hasQuotas ? await lockQuotaUse(tx, sessions) : () => []
  // The race: another server counts the use of the same quota for another group.
  await sync.reached('schedule:after-quotas')
  const keyUseOf = await lockKeys(tx, sessions)
  // The race: another server considers a session with the same concurrency key for another group.
  await sync.reached('schedule:after-keys')
  const agents = (await readAgentCapacity(tx, [group.name])).get(group.name) ?? []
  const pool = createAgentPool(agents, group.selector, group.roundRobinAt)
  const line = {
    sessions: sessions.map((session) => ({
      ...toPlaceable(session, quotasOf(session), keyUseOf(session)),
      ...towardsCheckpoint(session, checkpoints.get(session.id), agents),
    })),
    longClasses: new Set(
      sessions.filter(({ classIsLong }) => classIsLong).map(({ schedulingClass }) => schedulingClass),
    ),
    group: group.name,
  }
  const covered = sessions.filter(({ atHead }) => atHead).length
  const sequence = await sequenceOf(tx, group, line.sessions, covered, agents)
  const placement = place({ ...line, sequence }, pool)
  await assignKernels(
    tx,
    placement.placed.flatMap(({ kernels }) => kernels),
  )
  await recordOvertaken(tx, placement.overtaken)
  if (group.selector === 'ROUND_ROBIN' && pool.roundRobinAt !== null && placement.placed.length > 0) {
    await recordTurn(tx, group.name, pool.roundRobinAt)
  }
  return placement
}

async function sequenceOf(
  tx: Queryable,
  { name, sequencer }: PendingGroup,
  sessions: readonly PlaceableSession[],
  covered: number,
  agents: readonly AgentCapacity[],
): Promise<Sequence<PlaceableSession>> {
  if (sequencer !== 'DRF') return inOrderOfAge(sessions, sequencer === 'LIFO', covered)
  const totals = new Map<string, Quantity>()
  for (const { capacity } of agents) addQuantities(totals, capacity)
  return byDominantShare(sessions, { usedByOwner: await readUseByOwner(tx, name), totals })
}

/** Makes a session prefer agents that have its checkpoint. */
function towardsCheckpoint(
  session: PendingSession,
  placement: CheckpointPlacement | undefined,
  agents: readonly AgentCapacity[],
): Pick<PlaceableSession, 'avoidAgents'> | undefined {
  if (placement?.kind !== 'prefer') return undefined
  return { avoidAgents: preferring(avoidedInOrder(session.avoidAgents), placement.agents, agents) }
}

function toPlaceable(session: PendingSession, quotas: QuotaUse[], keyUse: KeyUse | null): PlaceableSession {
  const { id, priority, createdAt, skips, kernelIds } = session
  const request = resourceRequest({
    ...session,
    kernels: kernelIds.length,
    slots: parseQuantities(session.resourceSlots),
  })
  return {
    id,
    schedulingClass: `${session.projectId} ${session.userId} ${priority} ${request.key}`,
    claimedClass: session.schedulingClass,
    priority,
    createdAt,
    owner: session.userId ?? session.projectId,
    skips,
    kernelIds,
    quotas,
    keyUse,
    keyLimit: session.concurrencyLimit ?? 1,
    avoidAgents: avoidedInOrder(session.avoidAgents),
    request,
  }
}

type Keyed = Pick<PendingSession, 'id' | 'projectId' | 'concurrencyKey' | 'waitsForKey'>

/**
 * Returns a function that gives the use of a session's concurrency key, or null if it has none. The keys stay locked
 * for the transaction; sessions without keys cost nothing.
 */
async function lockKeys(tx: Queryable, sessions: readonly Keyed[]): Promise<(session: Keyed) => KeyUse | null> {
  const keyed = withKeys(sessions)
  if (keyed.length === 0) return () => null
  const rows = await lockKeyUse(
    tx,
    keyed,
    keyed.map(({ id }) => id),
  )
  const uses = new Map(
    rows.map(({ projectId, limit, ...row }): [string, KeyUse] => [
      nameOf(projectId, row.key),
      { ...row, limit: limit ?? Number.POSITIVE_INFINITY },
    ]),
  )
  return ({ projectId, concurrencyKey: key }) => (key === null ? null : uses.get(nameOf(projectId, key))!)
}

/**
 * Records the result of a pass for the keys of the sessions that it considered. A session whose key had no free place
 * waits for one; a session that waits for something else loses the place that it was offered.
 * @returns whether there are places to offer
 */
export async function settlePass(
  tx: Queryable,
  considered: readonly Keyed[],
  { placed, forKey }: Pick<Placement, 'placed' | 'forKey'>,
): Promise<boolean> {
  const keyed = withKeys(considered)
  if (keyed.length === 0) return false
  const started = new Set(placed.map(({ sessionId }) => sessionId))
  const freed = keyed.filter(({ id, waitsForKey }) =>
    forKey.has(id) ? forKey.get(id)!.yields : waitsForKey && !started.has(id),
  )
  const waits = new Map(keyed.map(({ id }) => [id, forKey.has(id)]))
  await settleKeys(tx, waits, freed)
  return freed.length > 0
}

function withKeys<Session extends Keyed>(sessions: readonly Session[]): (Session & ConcurrencyKey)[] {
  return sessions.flatMap((session) =>
    session.concurrencyKey === null ? [] : [{ ...session, key: session.concurrencyKey }],
  )
}

function nameOf(projectId: string, key: string): string {
  return `${projectId} ${key}`
}

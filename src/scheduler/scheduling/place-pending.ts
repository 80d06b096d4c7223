import { avoidedInOrder, createAgentPool } from '../../domain/scheduling/agent-pool.ts'
import { byDominantShare } from '../../domain/scheduling/by-dominant-share.ts'
import { type CheckpointPlacement, preferring } from '../../domain/scheduling/checkpoint-placement.ts'
import { inOrderOfAge } from '../../domain/scheduling/in-order-of-age.ts'
import { place, type PlaceableSession, type Placement } from '../../domain/scheduling/place.ts'
import { addQuantities, parseQuantities, type Quantity } from '../../domain/scheduling/quantity.ts'
import type { QuotaUse } from '../../domain/scheduling/quota-use.ts'
import type { AgentCapacity } from '../../domain/scheduling/agent-capacity.ts'
import type { Sequence } from '../../domain/scheduling/sequence.ts'
import type { KeyUse } from '../../domain/scheduling/key-use.ts'
import { resourceRequest } from '../../domain/scheduling/resource-request.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import { readAgentCapacity } from '../../store/sql/scheduling/agent-capacity.sql.ts'
import {
  assignKernels,
  recordOvertaken,
  recordTurn,
  type LockedGroup,
} from '../../store/sql/scheduling/assign-kernels.sql.ts'
import type { PendingSession } from '../../store/sql/scheduling/claim-pending.sql.ts'
import type { PendingGroup } from '../../store/sql/scheduling/pending-groups.sql.ts'
import { lockQuotaUse } from '../../store/sql/scheduling/quota-use.sql.ts'
import { readUseByOwner } from '../../store/sql/scheduling/read-use-by-owner.sql.ts'
import { lockKeys } from './concurrency-keys.ts'

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

/** What the place of its checkpoint changes for a session. */
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

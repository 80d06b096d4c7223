import { avoidedInOrder, createAgentPool } from '../../domain/scheduling/agent-pool.ts'
import { byDominantShare } from '../../domain/scheduling/by-dominant-share.ts'
import { inOrderOfAge } from '../../domain/scheduling/in-order-of-age.ts'
import { place, type PlaceableSession, type Placement } from '../../domain/scheduling/place.ts'
import { addQuantities, parseQuantities, type Quantity } from '../../domain/scheduling/quantity.ts'
import type { QuotaRoom } from '../../domain/scheduling/quota-room.ts'
import type { AgentRoom } from '../../domain/scheduling/room.ts'
import type { Sequence } from '../../domain/scheduling/sequence.ts'
import { shapeOf } from '../../domain/scheduling/shape.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import { readAgentRooms } from '../../store/sql/scheduling/agent-room.sql.ts'
import {
  assignKernels,
  recordOvertaken,
  recordTurn,
  type LockedGroup,
} from '../../store/sql/scheduling/assign-kernels.sql.ts'
import type { PendingSession } from '../../store/sql/scheduling/claim-pending.sql.ts'
import type { PendingGroup } from '../../store/sql/scheduling/pending-groups.sql.ts'
import { readQuotaRoom } from '../../store/sql/scheduling/quota-room.sql.ts'
import { readUseByOwner } from '../../store/sql/scheduling/read-use-by-owner.sql.ts'

/** Places sessions on the agents of their group and records the assignments. */
export async function placePending(
  tx: Queryable,
  group: PendingGroup & LockedGroup & { kernelsTo: 'SCHEDULED' | 'PREPARING' },
  sessions: readonly PendingSession[],
  sync: SyncPoints,
): Promise<Placement> {
  const quotasOf = group.hasQuotas ? await readQuotaRoom(tx, sessions) : () => []
  // The race: another server counts the use of the same quota for another group.
  await sync.reached('schedule:after-quotas')
  const rooms = (await readAgentRooms(tx, [group.name])).get(group.name) ?? []
  const pool = createAgentPool(rooms, group.selector, group.roundRobinAt)
  const line = {
    sessions: sessions.map((session) => toPlaceable(session, quotasOf(session))),
    longLanes: new Set(sessions.filter(({ laneIsLong }) => laneIsLong).map(({ lane }) => lane)),
    group: group.name,
  }
  const covered = sessions.filter(({ atHead }) => atHead).length
  const sequence = await sequenceOf(tx, group, line.sessions, covered, rooms)
  const placement = place({ ...line, sequence }, pool)
  await assignKernels(
    tx,
    placement.placed.flatMap(({ kernels }) => kernels),
    group.kernelsTo,
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
  rooms: readonly AgentRoom[],
): Promise<Sequence<PlaceableSession>> {
  if (sequencer !== 'DRF') return inOrderOfAge(sessions, sequencer === 'LIFO', covered)
  const totals = new Map<string, Quantity>()
  for (const { capacity } of rooms) addQuantities(totals, capacity)
  return byDominantShare(sessions, { usedByOwner: await readUseByOwner(tx, name), totals })
}

function toPlaceable(session: PendingSession, quotas: QuotaRoom[]): PlaceableSession {
  const { id, priority, createdAt, skips, kernelIds } = session
  const shape = shapeOf({ ...session, kernels: kernelIds.length, slots: parseQuantities(session.resourceSlots) })
  return {
    id,
    lane: `${session.projectId} ${session.userId} ${priority} ${shape.key}`,
    claimedLane: session.lane,
    priority,
    createdAt,
    owner: session.userId ?? session.projectId,
    skips,
    kernelIds,
    quotas,
    avoidAgents: avoidedInOrder(session.avoidAgents),
    shape,
  }
}

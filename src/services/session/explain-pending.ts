import { avoidedInOrder, createAgentPool } from '../../domain/scheduling/agent-pool.ts'
import { explainPending } from '../../domain/scheduling/explain-pending.ts'
import { parseQuantities } from '../../domain/scheduling/quantity.ts'
import { firstQuotaShortage, type QuotaRoom } from '../../domain/scheduling/quota-room.ts'
import type { AgentRoom } from '../../domain/scheduling/room.ts'
import { shapeOf, totalOf } from '../../domain/scheduling/shape.ts'
import { readAgentRooms } from '../../store/sql/scheduling/agent-room.sql.ts'
import { readQuotaUse } from '../../store/sql/scheduling/quota-room.sql.ts'
import {
  readAbsentAgents,
  readHolders,
  readPending,
  type PendingDemand,
} from '../../store/sql/scheduling/read-pending.sql.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * Why these sessions are still waiting, by id; sessions that are not waiting are left out. Derived from the present
 * state, so it is also true for sessions far back in the queue that the scheduler has not considered for a long time.
 * The number of statements does not depend on the number of sessions.
 */
export async function explainPendingSessions(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, string>> {
  const pending = await readPending(db, sessionIds)
  if (pending.length === 0) return new Map()
  const groups = [...new Set(pending.map(({ group }) => group))]
  const [rooms, holders, absent] = await Promise.all([
    readAgentRooms(db, groups),
    readHolders(db, groups),
    readAbsentAgents(db, groups),
  ])
  const quotasOf = await readQuotaUse(db, [...pending, ...holders])
  for (const [group, theirs] of rooms) {
    keepFor(
      holders.filter((holder) => holder.group === group && fitsQuotas(holder, quotasOf(holder))),
      theirs,
    )
  }
  return new Map(
    pending.map((session) => {
      const { id, group, total, open, failed } = session
      const facts = {
        ...session,
        dependencies: { total, open, failed },
        shape: shapeOfDemand(session),
        rooms: holders.some((holder) => holder.id === id) ? unkept(rooms.get(group)) : (rooms.get(group) ?? []),
        absent: absent.get(group) ?? {},
        quotas: quotasOf(session),
      }
      return [id, explainPending(facts)]
    }),
  )
}

function shapeOfDemand(session: PendingDemand) {
  return shapeOf({ ...session, kernels: session.clusterSize, slots: parseQuantities(session.resourceSlots) })
}

function fitsQuotas(session: PendingDemand, quotas: readonly QuotaRoom[]): boolean {
  return firstQuotaShortage(quotas, totalOf(shapeOfDemand(session))) === undefined
}

/** Reserves room as the scheduler does. */
function keepFor(holders: readonly PendingDemand[], rooms: readonly AgentRoom[]): void {
  const pool = createAgentPool(rooms, 'DISPERSED', null)
  for (const holder of holders) pool.keepFor(shapeOfDemand(holder), avoidedInOrder(holder.avoidAgents))
}

/** Sessions for which room is reserved may use that room. */
function unkept(rooms: readonly AgentRoom[] = []): AgentRoom[] {
  return rooms.map((room) => {
    const free = new Map([...room.free].map(([slot, amount]) => [slot, amount + (room.kept.get(slot) ?? 0n)]))
    return { ...room, free, kept: new Map() }
  })
}

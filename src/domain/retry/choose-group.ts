import { explainShortage } from '../scheduling/explain-shortage.ts'
import { parseQuantities } from '../scheduling/quantity.ts'
import { openRoom, type AgentRoom } from '../scheduling/room.ts'
import { shapeOf, type Shape } from '../scheduling/shape.ts'
import type { ClusterMode } from '../session/statuses.ts'

export interface GroupSeeker {
  resourceGroup: string
  /** The one to be chosen last at the end. */
  avoidGroups: readonly string[]
  avoidAgents: readonly string[]
  /** Only these agents may take it; empty for all. */
  allowAgents: readonly string[]
  excludeAgents: readonly string[]
  /** The agent must have all of these labels. */
  agentLabels: Readonly<Record<string, string>>
  resourceSlots: Readonly<Record<string, string>>
  clusterMode: ClusterMode
  clusterSize: number
}

/** An alive agent, and its resources when nothing runs on it. */
export interface GroupAgent {
  id: string
  resourceGroup: string
  labels: Readonly<Record<string, string>>
  capacity: Readonly<Record<string, string>>
}

/**
 * Chooses the group for a retry that avoids its own, among those whose agents could take it if nothing ran on them:
 * first groups that have agents enough which it does not avoid, then those that it does not avoid, by name, then the one
 * that it has avoided for the longest. It stays in its own group only if there is no other.
 */
export function chooseGroup(seeker: GroupSeeker, agents: readonly GroupAgent[]): string {
  if (!seeker.avoidGroups.includes(seeker.resourceGroup)) return seeker.resourceGroup
  const shape = shapeOf({ ...seeker, kernels: seeker.clusterSize, slots: parseQuantities(seeker.resourceSlots) })
  const groups = Map.groupBy(agents, ({ resourceGroup }) => resourceGroup)
  groups.delete(seeker.resourceGroup)
  const candidates = [...groups]
    .map(([name, those]) => ({ name, rooms: those.map(emptyRoom) }))
    .filter(({ name, rooms }) => couldTake(rooms, shape, name))
    .map(({ name, rooms }) => {
      const unavoided = rooms.filter(({ id }) => !seeker.avoidAgents.includes(id))
      const place = [couldTake(unavoided, shape, name) ? 0 : 1, seeker.avoidGroups.lastIndexOf(name)] as const
      return { name, place }
    })
  const [first] = candidates.toSorted(
    (a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1] || (a.name < b.name ? -1 : 1),
  )
  return first?.name ?? seeker.resourceGroup
}

function emptyRoom({ id, labels, capacity: amounts }: GroupAgent): AgentRoom {
  const capacity = parseQuantities(amounts)
  return openRoom({ id, labels, capacity, free: new Map(capacity) })
}

function couldTake(rooms: readonly AgentRoom[], shape: Shape, group: string): boolean {
  return explainShortage(shape, rooms, group) === undefined
}

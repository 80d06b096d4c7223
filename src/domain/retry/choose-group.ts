import { parseQuantities } from '../scheduling/quantity.ts'
import { hasRoom } from '../scheduling/room.ts'
import { shapeOf, suits, unitOf } from '../scheduling/shape.ts'
import type { ClusterMode } from '../session/statuses.ts'

export interface GroupSeeker {
  resourceGroup: string
  avoidGroups: readonly string[]
  /** Only these agents may take it; empty for all. */
  allowAgents: readonly string[]
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
 * Chooses the group for a retry that avoids its own: the first by name that it does not avoid and in which an agent
 * could take it. If there is none, it stays in its group.
 */
export function chooseGroup(seeker: GroupSeeker, agents: readonly GroupAgent[]): string {
  if (!seeker.avoidGroups.includes(seeker.resourceGroup)) return seeker.resourceGroup
  const candidates = agents
    .filter((agent) => !seeker.avoidGroups.includes(agent.resourceGroup) && couldTake(agent, seeker))
    .map(({ resourceGroup }) => resourceGroup)
  return candidates.toSorted()[0] ?? seeker.resourceGroup
}

function couldTake(agent: GroupAgent, seeker: GroupSeeker): boolean {
  const shape = shapeOf({ ...seeker, kernels: seeker.clusterSize, slots: parseQuantities(seeker.resourceSlots) })
  return suits(shape, agent) && hasRoom(parseQuantities(agent.capacity), unitOf(shape).demand)
}

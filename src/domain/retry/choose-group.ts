import { parseQuantities } from '../scheduling/quantity.ts'
import type { ClusterMode } from '../session/statuses.ts'

export interface GroupSeeker {
  resourceGroup: string
  avoidGroups: readonly string[]
  /** Only these may take it; empty for all. */
  allowAgents: readonly string[]
  resourceSlots: Readonly<Record<string, string>>
  clusterMode: ClusterMode
  clusterSize: number
}

/** An agent that is alive, and what it has free when nothing runs on it. */
export interface GroupAgent {
  id: string
  resourceGroup: string
  capacity: Readonly<Record<string, string>>
}

/**
 * The group for a retry that avoids its own: the first by name that it does not avoid and where an agent could take
 * it. Where none is left, it stays.
 */
export function chooseGroup(seeker: GroupSeeker, agents: readonly GroupAgent[]): string {
  if (!seeker.avoidGroups.includes(seeker.resourceGroup)) return seeker.resourceGroup
  const candidates = agents
    .filter((agent) => !seeker.avoidGroups.includes(agent.resourceGroup) && couldTake(agent, seeker))
    .map(({ resourceGroup }) => resourceGroup)
  return candidates.toSorted()[0] ?? seeker.resourceGroup
}

function couldTake({ id, capacity }: GroupAgent, seeker: GroupSeeker): boolean {
  if (seeker.allowAgents.length > 0 && !seeker.allowAgents.includes(id)) return false
  const has = parseQuantities(capacity)
  const times = seeker.clusterMode === 'SINGLE_NODE' ? BigInt(seeker.clusterSize) : 1n
  return [...parseQuantities(seeker.resourceSlots)].every(([slot, amount]) => (has.get(slot) ?? 0n) >= amount * times)
}

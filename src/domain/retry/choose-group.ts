import { explainShortage } from '../scheduling/explain-shortage.ts'
import { parseQuantities } from '../scheduling/quantity.ts'
import { agentCapacity, type AgentCapacity } from '../scheduling/agent-capacity.ts'
import { resourceRequest, type ResourceRequest } from '../scheduling/resource-request.ts'
import type { OfferedVolume, VolumeNeed } from '../scheduling/volume-need.ts'
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
  /** The agent must have all of these volumes; null for none. */
  volumeNeed: VolumeNeed | null
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
  /** What a single kernel can have of it; null: all. */
  perKernel: Readonly<Record<string, string>> | null
  /** Null for none. */
  volumes: readonly OfferedVolume[] | null
}

/**
 * Chooses the group for a retry that avoids its own, among those whose agents could take it if nothing ran on them:
 * first groups that have agents enough which it does not avoid, then those that it does not avoid, by name, then the
 * one that it has avoided for the longest. It stays in its own group only if there is no other.
 */
export function chooseGroup(seeker: GroupSeeker, agents: readonly GroupAgent[]): string {
  if (!seeker.avoidGroups.includes(seeker.resourceGroup)) return seeker.resourceGroup
  const request = resourceRequest({
    ...seeker,
    kernels: seeker.clusterSize,
    slots: parseQuantities(seeker.resourceSlots),
  })
  const groups = Map.groupBy(agents, ({ resourceGroup }) => resourceGroup)
  groups.delete(seeker.resourceGroup)
  const candidates = [...groups]
    .map(([name, those]) => ({ name, pool: those.map(idleAgent) }))
    .filter(({ name, pool }) => couldTake(pool, request, name))
    .map(({ name, pool }) => {
      const unavoided = pool.filter(({ id }) => !seeker.avoidAgents.includes(id))
      const place = [couldTake(unavoided, request, name) ? 0 : 1, seeker.avoidGroups.lastIndexOf(name)] as const
      return { name, place }
    })
  const [first] = candidates.toSorted(
    (a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1] || (a.name < b.name ? -1 : 1),
  )
  return first?.name ?? seeker.resourceGroup
}

function idleAgent({ id, labels, capacity: amounts, perKernel, volumes }: GroupAgent): AgentCapacity {
  const capacity = parseQuantities(amounts)
  return agentCapacity({
    id,
    labels,
    volumes: volumes ?? [],
    capacity,
    perKernel: perKernel && parseQuantities(perKernel),
    free: new Map(capacity),
  })
}

function couldTake(agents: readonly AgentCapacity[], request: ResourceRequest, group: string): boolean {
  return explainShortage(request, agents, group) === undefined
}

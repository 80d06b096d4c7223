import { AGENTS_NAMED_MAX } from '../limits.ts'
import { retryCreationId } from '../session/session-spec.ts'
import type { FailureCause } from '../session/failure.ts'
import type { RetryVerdict } from './verdict.ts'
import type { GpuNeed, ObservedGpu } from '../gpu.ts'
import { gpuSupply } from '../scheduling/gpu-supply.ts'
import { explainShortage } from '../scheduling/explain-pending.ts'
import {
  type OfferedVolume,
  parseQuantities,
  resourceRequest,
  type ResourceRequest,
  type VolumeNeed,
} from '../scheduling/resource-request.ts'
import { agentCapacity, type AgentCapacity } from '../scheduling/agent-pool.ts'
import type { ClusterMode, SessionType } from '../session/lifecycle.ts'
import type { KernelVariable } from '../session/kernel-environment.ts'
import { budgetOf } from './admit.ts'

export interface RetriedParent {
  id: string
  chainId: string
  /** The creation id of the chain's first session. */
  chainCreationId: string
  attempt: number
  retryCount: number
  uncountedRetries: number
  epoch: number
  epochStartedAt: Date
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  gpuNeed: GpuNeed | null
  resourceGroup: string
  avoidAgents: string[]
  excludeAgents: string[]
  avoidGroups: string[]
}

/** The fields in which an automatic child differs from its parent; it inherits the rest of the spec, and the policy. */
export interface DerivedChild {
  parentSessionId: string
  chainId: string
  creationId: string
  attempt: number
  retryCount: number
  uncountedRetries: number
  epoch: number
  epochStartedAt: Date
  origin: 'AUTO_RETRY'
  retryCause: FailureCause | null
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  gpuNeed: GpuNeed | null
  avoidAgents: string[]
  excludeAgents: string[]
  avoidGroups: string[]
}

/** The part of a verdict that changes the child, as stored with the decision; older decisions have no `exclude`. */
export type ChildChanges = Pick<RetryVerdict, 'cause' | 'counted' | 'growth' | 'avoid'> &
  Partial<Pick<RetryVerdict, 'exclude'>>

export function deriveChild(parent: RetriedParent, changes: ChildChanges): DerivedChild {
  const failedAgain = parent.avoidGroups.includes(parent.resourceGroup) ? [parent.resourceGroup] : []
  return {
    parentSessionId: parent.id,
    chainId: parent.chainId,
    creationId: retryCreationId(parent.chainCreationId, parent.attempt + 1),
    attempt: parent.attempt + 1,
    retryCount: parent.retryCount + (changes.counted ? 1 : 0),
    uncountedRetries: parent.uncountedRetries + (changes.counted ? 0 : 1),
    epoch: parent.epoch,
    epochStartedAt: parent.epochStartedAt,
    origin: 'AUTO_RETRY',
    retryCause: changes.cause,
    resourceSlots: { ...(changes.growth?.resourceSlots ?? parent.resourceSlots) },
    batchTimeout: changes.growth ? changes.growth.batchTimeout : parent.batchTimeout,
    gpuNeed: changes.growth?.gpuNeed === undefined ? parent.gpuNeed : changes.growth.gpuNeed,
    avoidAgents: withLast(parent.avoidAgents, changes.avoid.agents),
    excludeAgents: withLast(parent.excludeAgents, changes.exclude?.agents ?? []),
    avoidGroups: withLast(parent.avoidGroups, [...changes.avoid.groups, ...failedAgain]),
  }
}

/** Appends the places that failed last to the end. If the list gets too long, its oldest entries are dropped. */
function withLast(places: readonly string[], failed: readonly string[]): string[] {
  const last = new Set(failed)
  return [...places.filter((place) => !last.has(place)), ...last].slice(-AGENTS_NAMED_MAX)
}

export interface GroupSeeker {
  resourceGroup: string
  /** Groups to avoid; the last entry is chosen last. */
  avoidGroups: readonly string[]
  avoidAgents: readonly string[]
  /** Only these agents may run the session; empty means all. */
  allowAgents: readonly string[]
  excludeAgents: readonly string[]
  /** The agent must have all of these labels. */
  agentLabels: Readonly<Record<string, string>>
  /** The agent must have all of these volumes; null for none. */
  volumeNeed: VolumeNeed | null
  /** What its GPUs must be like; null if any will do. */
  gpuNeed: GpuNeed | null
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
  /** The most that a single kernel can have on this agent; null means no such limit. */
  perKernel: Readonly<Record<string, string>> | null
  /** Null if the agent has none. */
  volumes: readonly OfferedVolume[] | null
  /** Null if it assigns none itself. */
  gpus: readonly ObservedGpu[] | null
  /** Null if each kernel has its own. */
  gpuSharing: number | null
}

/**
 * Chooses the group for a retry that avoids its own, among the groups whose agents could run it if they were empty.
 * Groups with enough agents that the retry does not avoid come first; then groups that it does not avoid, by name; then
 * the group that it has avoided for the longest time. It stays in its own group only if there is no other.
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

function idleAgent({ id, labels, capacity: amounts, perKernel, volumes, gpus, gpuSharing }: GroupAgent): AgentCapacity {
  const capacity = parseQuantities(amounts)
  return agentCapacity({
    id,
    labels,
    volumes: volumes ?? [],
    capacity,
    perKernel: perKernel && parseQuantities(perKernel),
    gpus: gpus === null ? null : gpuSupply(gpus, gpuSharing, undefined, perKernel && capacity),
    free: new Map(capacity),
  })
}

function couldTake(agents: readonly AgentCapacity[], request: ResourceRequest, group: string): boolean {
  return explainShortage(request, agents, group) === undefined
}

interface RetriedSession {
  id: string
  chainId: string
  sessionType: SessionType
  attempt: number
  retryCount: number
  maxRetries: number
  parentSessionId: string | null
  retryCause: FailureCause | null
  /** Its number in its group, and the number of members; null without a group. */
  groupIndex: number | null
  groupSize: number | null
  /** The last line in the progress file of the attempt before; null if it wrote none. */
  lastProgress: string | null
}

/**
 * Environment variables that describe the chain to a session's kernels; KERNEL_VARIABLES defines them. All are always
 * set, and empty if there is no value, so that scripts can read them under `set -u` and never inherit another
 * session's.
 */
export function retryEnvironment(session: RetriedSession): { name: KernelVariable; value: string }[] {
  const maxRetries = budgetOf(session)
  return [
    { name: 'REPRISE_SESSION_ID', value: session.id },
    { name: 'REPRISE_CHAIN_ID', value: session.chainId },
    { name: 'REPRISE_ATTEMPT', value: String(session.attempt) },
    { name: 'REPRISE_MAX_ATTEMPTS', value: String(session.attempt + Math.max(0, maxRetries - session.retryCount)) },
    { name: 'REPRISE_RETRY_COUNT', value: String(session.retryCount) },
    { name: 'REPRISE_RETRY_OF_BUDGET', value: `${session.retryCount} of ${maxRetries}` },
    { name: 'REPRISE_PARENT_SESSION_ID', value: session.parentSessionId ?? '' },
    { name: 'REPRISE_RETRY_CAUSE', value: session.retryCause ?? '' },
    { name: 'REPRISE_INDEX', value: String(session.groupIndex ?? '') },
    { name: 'REPRISE_GROUP_SIZE', value: String(session.groupSize ?? '') },
    { name: 'REPRISE_LAST_PROGRESS', value: session.lastProgress ?? '' },
  ]
}

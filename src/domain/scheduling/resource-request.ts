import type { ClusterMode } from '../session/statuses.ts'
import type { Quantities } from './quantity.ts'
import type { AgentCapacity } from './agent-capacity.ts'
import { offersAll, type VolumeNeed } from './volume-need.ts'

/**
 * What a session asks for, and where it may run. Of sessions with equal requests, all fit or none does; only the agents
 * that they avoid make a difference.
 */
export interface ResourceRequest {
  /** Equal for equal requests. */
  key: string
  clusterMode: ClusterMode
  kernels: number
  /** What each kernel needs. */
  slots: Quantities
  /** Only these agents; empty for all. */
  allowAgents: ReadonlySet<string>
  /** None of these agents. */
  excludeAgents: ReadonlySet<string>
  /** An agent must have all of these labels. */
  agentLabels: Readonly<Record<string, string>>
  /** An agent must have all of these volumes; null for none. */
  volumeNeed: VolumeNeed | null
  /** Ports of what runs on the agent must be within reach. */
  needsPorts: boolean
}

/** The order of the slots does not matter, and a slot with amount 0 counts as not named. */
export function resourceRequest(session: {
  clusterMode: ClusterMode
  kernels: number
  slots: Quantities
  allowAgents: readonly string[]
  excludeAgents: readonly string[]
  agentLabels: Readonly<Record<string, string>>
  volumeNeed?: VolumeNeed | null
  needsPorts?: boolean
}): ResourceRequest {
  const { clusterMode, kernels, agentLabels, volumeNeed = null, needsPorts = false } = session
  const slots = new Map([...session.slots].filter(([, amount]) => amount > 0n).toSorted(byKey))
  const allowed = session.allowAgents.toSorted()
  const excluded = session.excludeAgents.toSorted()
  const labels = Object.entries(agentLabels).toSorted(byKey)
  const mode = kernels === 1 ? 'SINGLE_NODE' : clusterMode
  const key = JSON.stringify([
    mode,
    kernels,
    [...slots].map(([slot, amount]) => [slot, String(amount)]),
    allowed,
    excluded,
    labels,
    volumeNeed,
    needsPorts,
  ])
  const needs = { volumeNeed, needsPorts }
  const agents = { allowAgents: new Set(allowed), excludeAgents: new Set(excluded), agentLabels, ...needs }
  return { key, clusterMode: mode, kernels, slots, ...agents }
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** What is placed as a whole: all kernels of a single-node session, or one kernel of a multi-node one. */
export interface Unit {
  demand: Quantities
  kernels: number
  /** The number of units in the session. */
  count: number
}

export function unitOf(request: ResourceRequest): Unit {
  return request.clusterMode === 'SINGLE_NODE'
    ? { demand: times(request.slots, request.kernels), kernels: request.kernels, count: 1 }
    : { demand: request.slots, kernels: 1, count: request.kernels }
}

/** The session's total demand. */
export function totalOf(request: ResourceRequest): Quantities {
  return times(request.slots, request.kernels)
}

/** Whether the agent may take the session at all, regardless of what is free on it. */
export function suits(
  request: ResourceRequest,
  agent: Pick<AgentCapacity, 'id' | 'labels' | 'volumes' | 'ports'>,
): boolean {
  if (request.allowAgents.size > 0 && !request.allowAgents.has(agent.id)) return false
  if (request.excludeAgents.has(agent.id)) return false
  if (request.needsPorts && !agent.ports) return false
  if (request.volumeNeed !== null && !offersAll(agent.volumes, request.volumeNeed)) return false
  return Object.entries(request.agentLabels).every(([key, value]) => agent.labels[key] === value)
}

function times(slots: Quantities, count: number): Quantities {
  return count === 1 ? slots : new Map([...slots].map(([slot, amount]) => [slot, amount * BigInt(count)]))
}

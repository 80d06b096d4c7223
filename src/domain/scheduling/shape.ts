import type { ClusterMode } from '../session/statuses.ts'
import type { Quantities } from './quantity.ts'
import type { AgentRoom } from './room.ts'

/**
 * What determines where a session fits, except for the agents that it avoids: either all sessions of one shape fit or
 * none does.
 */
export interface Shape {
  /** Equal for equal shapes. */
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
}

/** The order of the slots does not matter, and a slot with amount 0 counts as not named. */
export function shapeOf(session: {
  clusterMode: ClusterMode
  kernels: number
  slots: Quantities
  allowAgents: readonly string[]
  excludeAgents: readonly string[]
  agentLabels: Readonly<Record<string, string>>
}): Shape {
  const { clusterMode, kernels, agentLabels } = session
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
  ])
  const agents = { allowAgents: new Set(allowed), excludeAgents: new Set(excluded), agentLabels }
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

export function unitOf(shape: Shape): Unit {
  return shape.clusterMode === 'SINGLE_NODE'
    ? { demand: times(shape.slots, shape.kernels), kernels: shape.kernels, count: 1 }
    : { demand: shape.slots, kernels: 1, count: shape.kernels }
}

/** The session's total demand. */
export function totalOf(shape: Shape): Quantities {
  return times(shape.slots, shape.kernels)
}

/** Whether the agent may take the session at all, regardless of its room. */
export function suits(shape: Shape, agent: Pick<AgentRoom, 'id' | 'labels'>): boolean {
  if (shape.allowAgents.size > 0 && !shape.allowAgents.has(agent.id)) return false
  if (shape.excludeAgents.has(agent.id)) return false
  return Object.entries(shape.agentLabels).every(([key, value]) => agent.labels[key] === value)
}

function times(slots: Quantities, count: number): Quantities {
  return count === 1 ? slots : new Map([...slots].map(([slot, amount]) => [slot, amount * BigInt(count)]))
}

import type { Quantities } from './quantity.ts'
import type { AgentCapacity } from './agent-capacity.ts'

export type AgentSelector = 'CONCENTRATED' | 'DISPERSED' | 'ROUND_ROBIN'

/**
 * How well an agent suits; the lowest value is chosen, ties go by agent id. DISPERSED and CONCENTRATED compare how full
 * the fullest requested slot would be, not the number of kernels: one kernel of 60 cpu loads an agent more than ten of
 * 1, and agents differ in size. Agents with kinds of slots that the session does not ask for (devices) are left for
 * sessions that do, as long as another agent fits. These floating point numbers only express a preference; whether a
 * session fits is computed exactly.
 */
export function preferenceOf(agent: AgentCapacity, demand: Quantities, selector: AgentSelector): number {
  if (selector === 'ROUND_ROBIN') return 0
  const fill = fillWith(agent, demand)
  return unaskedKinds(agent, demand) + (selector === 'DISPERSED' ? fill : 1 - fill)
}

/** 0 to 1. */
function fillWith(agent: AgentCapacity, demand: Quantities): number {
  let fill = 0
  for (const [slot, amount] of demand) {
    const capacity = agent.capacity.get(slot) ?? 0n
    const used = capacity - (agent.free.get(slot) ?? 0n) + amount
    fill = Math.max(fill, Number(used) / Number(capacity))
  }
  return fill
}

/** Each kind outweighs any fill, which is at most 1. */
function unaskedKinds({ capacity }: AgentCapacity, demand: Quantities): number {
  let kinds = 0
  for (const [slot, amount] of capacity) if (amount > 0n && !demand.has(slot)) kinds += 2
  return kinds
}

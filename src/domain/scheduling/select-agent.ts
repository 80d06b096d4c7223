import type { Quantities } from './quantity.ts'
import type { AgentRoom } from './room.ts'

export type AgentSelector = 'CONCENTRATED' | 'DISPERSED' | 'ROUND_ROBIN'

/**
 * How well an agent suits; the lowest is taken, ties by agent id. DISPERSED and CONCENTRATED go by how full the
 * fullest of the slots asked for would be, not by how many kernels run: one kernel of 60 cpu loads an agent more
 * than ten of 1, and agents differ in size. Agents with kinds of slots that the session does not ask for (devices)
 * are left for those that do as long as another fits. Only a preference hangs on these floating point numbers;
 * whether a session fits is counted exactly.
 */
export function preferenceOf(room: AgentRoom, demand: Quantities, selector: AgentSelector): number {
  if (selector === 'ROUND_ROBIN') return 0
  const fill = fillWith(room, demand)
  return unaskedKinds(room, demand) + (selector === 'DISPERSED' ? fill : 1 - fill)
}

/** 0 to 1. */
function fillWith(room: AgentRoom, demand: Quantities): number {
  let fill = 0
  for (const [slot, amount] of demand) {
    const capacity = room.capacity.get(slot) ?? 0n
    const used = capacity - (room.free.get(slot) ?? 0n) + amount
    fill = Math.max(fill, Number(used) / Number(capacity))
  }
  return fill
}

/** Each weighs more than any fill, which is at most 1. */
function unaskedKinds({ capacity }: AgentRoom, demand: Quantities): number {
  let kinds = 0
  for (const [slot, amount] of capacity) if (amount > 0n && !demand.has(slot)) kinds += 2
  return kinds
}

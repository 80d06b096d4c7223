import type { Quantities, Quantity } from './quantity.ts'
import type { OfferedVolume } from './volume-need.ts'

/** An agent as placement sees it; its free amounts shrink as sessions are placed. */
export interface AgentCapacity {
  id: string
  labels: Readonly<Record<string, string>>
  volumes: readonly OfferedVolume[]
  /** Whether ports of its kernels can be reached. */
  ports: boolean
  /** Its resources when nothing runs on it. */
  capacity: Quantities
  /** What a kernel can have at most of the slots named, where the agent consists of several machines; null: all of it. */
  perKernel: Quantities | null
  /** Negative if more is reserved for a session than is free now. */
  free: Map<string, Quantity>
  /** The part of the taken amounts that is only reserved, for overdue sessions. */
  reserved: Map<string, Quantity>
  /** Grows with each change of `free`. */
  version: number
}

/** `free` is taken over, not copied. */
export function agentCapacity({
  id,
  labels,
  capacity,
  perKernel = null,
  volumes = [],
  ports = true,
  free,
}: Pick<AgentCapacity, 'id' | 'labels' | 'capacity' | 'free'> &
  Partial<Pick<AgentCapacity, 'perKernel' | 'volumes' | 'ports'>>): AgentCapacity {
  return { id, labels, volumes, ports, capacity, perKernel, free, reserved: new Map(), version: 0 }
}

export function fits(has: Quantities, demand: Quantities): boolean {
  for (const [slot, amount] of demand) if ((has.get(slot) ?? 0n) < amount) return false
  return true
}

/** Whether one machine of the agent has that much, which is for the kernels that must be on one. */
export function holds({ perKernel }: AgentCapacity, demand: Quantities): boolean {
  if (perKernel === null) return true
  for (const [slot, amount] of demand) if ((perKernel.get(slot) ?? amount) < amount) return false
  return true
}

/** The most of a slot that kernels on one machine can have, if nothing else ran there. */
export function mostOf({ capacity, perKernel }: AgentCapacity, slot: string): Quantity {
  const all = capacity.get(slot) ?? 0n
  const most = perKernel?.get(slot) ?? all
  return most < all ? most : all
}

export function take(agent: AgentCapacity, demand: Quantities, count = 1n): void {
  for (const [slot, amount] of demand) agent.free.set(slot, (agent.free.get(slot) ?? 0n) - amount * count)
  agent.version += 1
}

export function giveBack(agent: AgentCapacity, demand: Quantities): void {
  take(agent, demand, -1n)
}

/** Takes amounts that may not be free yet. */
export function reserve(agent: AgentCapacity, demand: Quantities, count = 1n): void {
  take(agent, demand, count)
  for (const [slot, amount] of demand) agent.reserved.set(slot, (agent.reserved.get(slot) ?? 0n) + amount * count)
}

/** The amount that is actually free, including what is reserved. */
export function freeOf(agent: AgentCapacity, slot: string): Quantity {
  return (agent.free.get(slot) ?? 0n) + (agent.reserved.get(slot) ?? 0n)
}

/** The amount that would be free if nothing ran, minus what is reserved. */
export function unreservedOf(agent: AgentCapacity, slot: string): Quantity {
  return (agent.capacity.get(slot) ?? 0n) - (agent.reserved.get(slot) ?? 0n)
}

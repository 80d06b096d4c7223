import type { Quantities, Quantity } from './quantity.ts'

/** An agent as placement sees it; its free amounts shrink as sessions are placed. */
export interface AgentRoom {
  id: string
  labels: Readonly<Record<string, string>>
  /** Its resources when nothing runs on it. */
  capacity: Quantities
  /** Negative if more is kept for a session than is free now. */
  free: Map<string, Quantity>
  /** The part of the taken amounts that is only kept for sessions that hold the line. */
  kept: Map<string, Quantity>
  /** Grows with each change of `free`. */
  version: number
}

/** `free` becomes the room's own. */
export function openRoom({
  id,
  labels,
  capacity,
  free,
}: Pick<AgentRoom, 'id' | 'labels' | 'capacity' | 'free'>): AgentRoom {
  return { id, labels, capacity, free, kept: new Map(), version: 0 }
}

export function hasRoom(has: Quantities, demand: Quantities): boolean {
  for (const [slot, amount] of demand) if ((has.get(slot) ?? 0n) < amount) return false
  return true
}

export function take(room: AgentRoom, demand: Quantities, count = 1n): void {
  for (const [slot, amount] of demand) room.free.set(slot, (room.free.get(slot) ?? 0n) - amount * count)
  room.version += 1
}

export function giveBack(room: AgentRoom, demand: Quantities): void {
  take(room, demand, -1n)
}

/** Takes room that may not be free yet. */
export function keep(room: AgentRoom, demand: Quantities, count = 1n): void {
  take(room, demand, count)
  for (const [slot, amount] of demand) room.kept.set(slot, (room.kept.get(slot) ?? 0n) + amount * count)
}

/** The amount that is actually free, including what is kept. */
export function freeOf(room: AgentRoom, slot: string): Quantity {
  return (room.free.get(slot) ?? 0n) + (room.kept.get(slot) ?? 0n)
}

/** The amount that would be free if nothing ran, minus what is kept. */
export function unkeptOf(room: AgentRoom, slot: string): Quantity {
  return (room.capacity.get(slot) ?? 0n) - (room.kept.get(slot) ?? 0n)
}

import { createHeap } from './heap.ts'
import type { Quantities } from './quantity.ts'
import { giveBack, hasRoom, keep, take, unkeptOf, type AgentRoom } from './room.ts'
import { preferenceOf, type AgentSelector } from './select-agent.ts'
import { suits, unitOf, type Shape, type Unit } from './shape.ts'

/**
 * The agents of one group during one scheduling pass. Except for a release, room only shrinks, so a shape that did not
 * fit is not tried again.
 */
export interface AgentPool {
  readonly rooms: readonly AgentRoom[]
  /** The agent that was chosen last. */
  readonly roundRobinAt: string | null
  /** The agent of each kernel; undefined if the session does not fit, and then nothing is taken. */
  place(shape: Shape, avoidAgents: Avoided): string[] | undefined
  /**
   * Keeps room where the session will fit soonest: on the agents that lack the least. They only gain room while it is
   * kept, so the session comes closer to fitting with each pass. Undefined if these agents could never take it, and
   * then nothing is kept.
   */
  keepFor(shape: Shape, avoidAgents: Avoided): Kept | undefined
  release(kept: Kept): void
}

/** The place of each agent to avoid, from 1: the greater, the later it is chosen. An agent that is not to be avoided has none. */
export type Avoided = ReadonlyMap<string, number>

/** The agents to avoid, the one to be chosen last at the end. */
export function avoidedInOrder(agentIds: readonly string[]): Avoided {
  return new Map(agentIds.map((id, index) => [id, index + 1]))
}

export interface Kept {
  demand: Quantities
  rooms: readonly AgentRoom[]
}

interface Candidate {
  room: AgentRoom
  /** The position in `rooms`, which are in id order. */
  index: number
  /** The room's version when `preference` was computed. */
  version: number
  preference: number
}

interface Candidates {
  unit: Unit
  /** The agents that still have room for one unit. */
  open: Candidate[]
  full: boolean
}

/** `roundRobinAt` is the agent that was chosen last; `rooms` are in id order. */
export function createAgentPool(
  rooms: readonly AgentRoom[],
  selector: AgentSelector,
  roundRobinAt: string | null,
): AgentPool {
  const shapes = new Map<string, Candidates>()
  let turn = roundRobinAt === null ? -1 : rooms.findLastIndex(({ id }) => id <= roundRobinAt)

  function candidatesOf(shape: Shape): Candidates {
    const known = shapes.get(shape.key)
    if (known) return known
    const open = rooms.flatMap((room, index) =>
      suits(shape, room) ? [{ room, index, version: -1, preference: 0 }] : [],
    )
    const candidates = { unit: unitOf(shape), open, full: false }
    shapes.set(shape.key, candidates)
    return candidates
  }

  /** Removes the agents that no longer fit. */
  function refresh({ open, unit }: Candidates): void {
    let kept = 0
    for (const candidate of open) {
      if (candidate.version !== candidate.room.version) {
        if (!hasRoom(candidate.room.free, unit.demand)) continue
        candidate.version = candidate.room.version
        candidate.preference = preferenceOf(candidate.room, unit.demand, selector)
      }
      open[kept++] = candidate
    }
    open.length = kept
  }

  function rankOf({ index, preference }: Candidate): number {
    if (selector !== 'ROUND_ROBIN') return preference
    return index > turn ? index - turn : index - turn + rooms.length
  }

  function choose(candidates: Candidates, avoidAgents: Avoided): Candidate | undefined {
    refresh(candidates)
    const { open } = candidates
    if (avoidAgents.size === 0) return lowest(open, rankOf)
    const placeOf = ({ room }: Candidate) => avoidAgents.get(room.id) ?? 0
    const least = Math.min(...open.map(placeOf))
    return lowest(
      open.filter((candidate) => placeOf(candidate) === least),
      rankOf,
    )
  }

  return {
    rooms,
    get roundRobinAt() {
      return turn === -1 ? null : rooms[turn]!.id
    },
    place(shape, avoidAgents) {
      const candidates = candidatesOf(shape)
      if (candidates.full) return undefined
      const { unit } = candidates
      const turnBefore = turn
      const chosen: AgentRoom[] = []
      for (let n = 0; n < unit.count; n++) {
        const candidate = choose(candidates, avoidAgents)
        if (!candidate) {
          for (const room of chosen) giveBack(room, unit.demand)
          turn = turnBefore
          candidates.full = true
          return undefined
        }
        take(candidate.room, unit.demand)
        turn = candidate.index
        chosen.push(candidate.room)
      }
      return chosen.flatMap((room) => Array.from({ length: unit.kernels }, () => room.id))
    },
    keepFor(shape, avoidAgents) {
      const { demand, count } = unitOf(shape)
      const nearest = createHeap<{ room: AgentRoom; lack: number }>(
        (a, b) => a.lack < b.lack || (a.lack === b.lack && a.room.id < b.room.id),
      )
      const add = (room: AgentRoom) => {
        const lack = lackOf(room, demand) + (avoidAgents.get(room.id) ?? 0) * AVOIDED
        if (couldTake(room, demand)) nearest.push({ room, lack })
      }
      for (const room of rooms) if (suits(shape, room)) add(room)
      const kept: AgentRoom[] = []
      while (kept.length < count) {
        const room = nearest.pop()?.room
        if (!room) {
          for (const one of kept) keep(one, demand, -1n)
          return undefined
        }
        keep(room, demand)
        kept.push(room)
        add(room)
      }
      return { demand, rooms: kept }
    },
    release(kept) {
      for (const room of kept.rooms) keep(room, kept.demand, -1n)
      shapes.clear()
    },
  }
}

/** The first item with the lowest value. */
function lowest<T>(all: readonly T[], of: (one: T) => number): T | undefined {
  let best: T | undefined
  let least = Number.POSITIVE_INFINITY
  for (const one of all) {
    const value = of(one)
    if (value < least) [best, least] = [one, value]
  }
  return best
}

function couldTake(room: AgentRoom, demand: Quantities): boolean {
  for (const [slot, amount] of demand) if (unkeptOf(room, slot) < amount) return false
  return true
}

/** Greater than any lack. */
const AVOIDED = 1e9

/** The fraction of the demand that is not free, for the slot with the greatest such fraction; 0 if it fits. */
function lackOf({ free }: AgentRoom, demand: Quantities): number {
  let lack = 0
  for (const [slot, amount] of demand) lack = Math.max(lack, Number(amount - (free.get(slot) ?? 0n)) / Number(amount))
  return lack
}

import {
  offersAll,
  type OfferedVolume,
  type Quantities,
  type Quantity,
  type ResourceRequest,
  type Unit,
  unitOf,
} from './resource-request.ts'
import { gpuDemands, type GpuSupply, idle, isParticular, takeGpus } from './gpu-supply.ts'
import { createHeap } from './sequence.ts'

/** An agent as the placement sees it; its free amounts shrink as sessions are placed. */
export interface AgentCapacity {
  id: string
  /** For people; read only to explain why a session waits. */
  name?: string | undefined
  labels: Readonly<Record<string, string>>
  volumes: readonly OfferedVolume[]
  /** Whether ports of its kernels are reachable. */
  ports: boolean
  /** The agent's resources when nothing runs on it. */
  capacity: Quantities
  /**
   * The most of the named slots that one kernel can have, if the agent consists of several machines; null if there is
   * no such limit.
   */
  perKernel: Quantities | null
  /** Negative if more is reserved for a session than is free now. */
  free: Map<string, Quantity>
  /** The part of the taken amounts that is only reserved, for overdue sessions. */
  reserved: Map<string, Quantity>
  /** Which of its GPUs are free; null if it does not assign them itself, and then nothing is known about them. */
  gpus: GpuSupply | null
  /** Grows with each change of `free`. */
  version: number
}

/** Creates an agent's capacity. `free` is used without copying. */
export function agentCapacity({
  id,
  name,
  labels,
  capacity,
  perKernel = null,
  volumes = [],
  ports = true,
  gpus = null,
  free,
}: Pick<AgentCapacity, 'id' | 'labels' | 'capacity' | 'free'> &
  Partial<Pick<AgentCapacity, 'name' | 'perKernel' | 'volumes' | 'ports' | 'gpus'>>): AgentCapacity {
  return { id, name, labels, volumes, ports, capacity, perKernel, free, gpus, reserved: new Map(), version: 0 }
}

/** Whether the agent may run the session, regardless of free capacity. */
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

/** Whether one machine of the agent can hold this demand, which is for kernels that must run on one machine. */
export function holds({ perKernel }: AgentCapacity, demand: Quantities): boolean {
  if (perKernel === null) return true
  for (const [slot, amount] of demand) if ((perKernel.get(slot) ?? amount) < amount) return false
  return true
}

/**
 * Whether the agent has the GPUs for kernels that are placed together, if nothing else ran there. Slots alone decide
 * unless the request is particular.
 */
export function ownsGpus({ gpus }: AgentCapacity, request: ResourceRequest): boolean {
  if (!isParticular(request)) return true
  return gpus !== null && takeGpus(idle(gpus), gpuDemands(request)) !== null
}

/** Whether these GPUs are free. */
export function hasFreeGpus({ gpus }: AgentCapacity, request: ResourceRequest): boolean {
  return gpus === null || takeGpus(gpus, gpuDemands(request)) !== null
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

/** Takes amounts, even if they are not free yet. */
export function reserve(agent: AgentCapacity, demand: Quantities, count = 1n): void {
  take(agent, demand, count)
  for (const [slot, amount] of demand) agent.reserved.set(slot, (agent.reserved.get(slot) ?? 0n) + amount * count)
}

/** The amount that is actually free, including what is reserved. */
export function freeOf(agent: AgentCapacity, slot: string): Quantity {
  return (agent.free.get(slot) ?? 0n) + (agent.reserved.get(slot) ?? 0n)
}

/**
 * The agents of one group during one scheduling pass. Except for a release, free capacity only shrinks, so a request
 * that did not fit is not tried again.
 */
export interface AgentPool {
  readonly agents: readonly AgentCapacity[]
  /** The agent that was chosen last. */
  readonly roundRobinAt: string | null
  /** Chooses an agent for each kernel; undefined if the session does not fit, and then nothing is taken. */
  place(request: ResourceRequest, avoidAgents: Avoided): string[] | undefined
  /**
   * Reserves capacity where the session will fit soonest: on the agents that lack the least. Their free capacity only
   * grows meanwhile, so the session comes closer to fitting with each pass. Undefined if these agents could never take
   * the session, and then nothing is reserved.
   */
  reserve(request: ResourceRequest, avoidAgents: Avoided): Reservation | undefined
  release(reservation: Reservation): void
}

/**
 * A rank for each agent to avoid, from 1: the higher the rank, the later the agent is chosen. Other agents have no
 * entry.
 */
export type Avoided = ReadonlyMap<string, number>

/** Ranks the agents to avoid; the last entry is chosen last. */
export function avoidedInOrder(agentIds: readonly string[]): Avoided {
  return new Map(agentIds.map((id, index) => [id, index + 1]))
}

export interface Reservation {
  demand: Quantities
  agents: readonly AgentCapacity[]
}

interface Candidate {
  agent: AgentCapacity
  /** The position in `agents`, which is sorted by id. */
  index: number
  /** The agent's version when `preference` was computed. */
  version: number
  preference: number
}

interface Candidates {
  unit: Unit
  request: ResourceRequest
  /** The agents that still have capacity for one unit. */
  open: Candidate[]
  full: boolean
}

/** Creates the pool. `roundRobinAt` is the agent that was chosen last; `agents` is sorted by id. */
export function createAgentPool(
  agents: readonly AgentCapacity[],
  selector: AgentSelector,
  roundRobinAt: string | null,
): AgentPool {
  const requests = new Map<string, Candidates>()
  let turn = roundRobinAt === null ? -1 : agents.findLastIndex(({ id }) => id <= roundRobinAt)

  function candidatesOf(request: ResourceRequest): Candidates {
    const known = requests.get(request.key)
    if (known) return known
    const unit = unitOf(request)
    const open = agents.flatMap((agent, index) =>
      suits(request, agent) && holds(agent, unit.demand) && ownsGpus(agent, request)
        ? [{ agent, index, version: -1, preference: 0 }]
        : [],
    )
    const candidates = { unit, request, open, full: false }
    requests.set(request.key, candidates)
    return candidates
  }

  /** Removes the agents that no longer fit. */
  function refresh({ open, unit, request }: Candidates): void {
    let kept = 0
    for (const candidate of open) {
      if (candidate.version !== candidate.agent.version) {
        if (!fits(candidate.agent.free, unit.demand) || !hasFreeGpus(candidate.agent, request)) continue
        candidate.version = candidate.agent.version
        candidate.preference = preferenceOf(candidate.agent, unit.demand, selector)
      }
      open[kept++] = candidate
    }
    open.length = kept
  }

  function rankOf({ index, preference }: Candidate): number {
    if (selector !== 'ROUND_ROBIN') return preference
    return index > turn ? index - turn : index - turn + agents.length
  }

  function choose(candidates: Candidates, avoidAgents: Avoided): Candidate | undefined {
    refresh(candidates)
    const { open } = candidates
    if (avoidAgents.size === 0) return lowest(open, rankOf)
    const placeOf = ({ agent }: Candidate) => avoidAgents.get(agent.id) ?? 0
    const least = Math.min(...open.map(placeOf))
    return lowest(
      open.filter((candidate) => placeOf(candidate) === least),
      rankOf,
    )
  }

  return {
    agents,
    get roundRobinAt() {
      return turn === -1 ? null : agents[turn]!.id
    },
    place(request, avoidAgents) {
      const candidates = candidatesOf(request)
      if (candidates.full) return undefined
      const { unit } = candidates
      const turnBefore = turn
      const demands = gpuDemands(request)
      const chosen: { agent: AgentCapacity; gpus: GpuSupply | null }[] = []
      for (let n = 0; n < unit.count; n++) {
        const candidate = choose(candidates, avoidAgents)
        if (!candidate) {
          for (const { agent, gpus } of chosen.toReversed()) {
            agent.gpus = gpus
            giveBack(agent, unit.demand)
          }
          turn = turnBefore
          candidates.full = true
          return undefined
        }
        const { agent } = candidate
        chosen.push({ agent, gpus: agent.gpus })
        if (agent.gpus !== null) agent.gpus = takeGpus(agent.gpus, demands)
        take(agent, unit.demand)
        turn = candidate.index
      }
      return chosen.flatMap(({ agent }) => Array.from({ length: unit.kernels }, () => agent.id))
    },
    reserve(request, avoidAgents) {
      const { demand, count } = unitOf(request)
      const nearest = createHeap<{ agent: AgentCapacity; lack: number }>(
        (a, b) => a.lack < b.lack || (a.lack === b.lack && a.agent.id < b.agent.id),
      )
      const add = (agent: AgentCapacity) => {
        const lack = lackOf(agent, demand) + (avoidAgents.get(agent.id) ?? 0) * AVOIDED
        if (couldTake(agent, demand)) nearest.push({ agent, lack })
      }
      for (const agent of agents) if (suits(request, agent) && ownsGpus(agent, request)) add(agent)
      const reserved: AgentCapacity[] = []
      while (reserved.length < count) {
        const agent = nearest.pop()?.agent
        if (!agent) {
          for (const one of reserved) reserve(one, demand, -1n)
          return undefined
        }
        reserve(agent, demand)
        reserved.push(agent)
        add(agent)
      }
      return { demand, agents: reserved }
    },
    release(reservation) {
      for (const agent of reservation.agents) reserve(agent, reservation.demand, -1n)
      requests.clear()
    },
  }
}

function fits(has: Quantities, demand: Quantities): boolean {
  for (const [slot, amount] of demand) if ((has.get(slot) ?? 0n) < amount) return false
  return true
}

/** The amount that would be free if nothing ran, minus what is reserved. */
function unreservedOf(agent: AgentCapacity, slot: string): Quantity {
  return (agent.capacity.get(slot) ?? 0n) - (agent.reserved.get(slot) ?? 0n)
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

function couldTake(agent: AgentCapacity, demand: Quantities): boolean {
  if (!holds(agent, demand)) return false
  for (const [slot, amount] of demand) if (unreservedOf(agent, slot) < amount) return false
  return true
}

/** A penalty greater than any lack. */
const AVOIDED = 1e9

/** The fraction of the demand that is not free, for the slot with the greatest such fraction; 0 if it fits. */
function lackOf({ free }: AgentCapacity, demand: Quantities): number {
  let lack = 0
  for (const [slot, amount] of demand) lack = Math.max(lack, Number(amount - (free.get(slot) ?? 0n)) / Number(amount))
  return lack
}

export type AgentSelector = 'CONCENTRATED' | 'DISPERSED' | 'ROUND_ROBIN'

/**
 * Ranks how well an agent suits; the lowest value is chosen, ties go by agent id. DISPERSED and CONCENTRATED compare
 * how full the fullest requested slot would be, not the number of kernels: one kernel of 60 cpu loads an agent more
 * than ten of 1, and agents differ in size. Agents with kinds of slots that the session does not ask for (devices) are
 * left for sessions that do, as long as another agent fits. These floating point numbers only express a preference;
 * whether a session fits is computed exactly.
 */
function preferenceOf(agent: AgentCapacity, demand: Quantities, selector: AgentSelector): number {
  if (selector === 'ROUND_ROBIN') return 0
  const fill = fillWith(agent, demand)
  return unaskedKinds(agent, demand) + (selector === 'DISPERSED' ? fill : 1 - fill)
}

/** The fullest requested slot, from 0 to 1. */
function fillWith(agent: AgentCapacity, demand: Quantities): number {
  let fill = 0
  for (const [slot, amount] of demand) {
    const capacity = agent.capacity.get(slot) ?? 0n
    const used = capacity - (agent.free.get(slot) ?? 0n) + amount
    fill = Math.max(fill, Number(used) / Number(capacity))
  }
  return fill
}

/** Adds 2 per kind of slot that is not requested: each outweighs any fill, which is at most 1. */
function unaskedKinds({ capacity }: AgentCapacity, demand: Quantities): number {
  let kinds = 0
  for (const [slot, amount] of capacity) if (amount > 0n && !demand.has(slot)) kinds += 2
  return kinds
}

import { EXPECTED_START_REACH_MAX, EXPECTED_START_STEPS_MAX } from '../limits.ts'
import { type AgentCapacity, type AgentSelector, createAgentPool, giveBack, take } from './agent-pool.ts'
import { place, type PlaceableSession } from './place.ts'
import type { QuotaUse } from './quota-use.ts'
import { addQuantities, type Quantities, type Quantity, totalOf } from './resource-request.ts'
import { byDominantShare, createHeap, inOrderOfAge, type Sequence, type Sequencer } from './sequence.ts'

/**
 * What will happen if no session is added: sessions start in the order of the scheduler, each as soon as it fits, and
 * end after their usual time. A session without a usual time keeps what it has, so estimates are rather late than early.
 */

export interface WaitingSession extends Omit<PlaceableSession, 'keyUse' | 'keyLimit'> {
  /** How long it will run; null if its name has no usual duration. */
  usualSeconds: number | null
}

/** A session that holds resources of agents. */
export interface HoldingSession {
  owner: string
  quotas: readonly QuotaUse[]
  kernels: readonly { agentId: string; slots: Quantities }[]
  /** When it gives them back, in seconds from now; null if that is not known. */
  endsInSeconds: number | null
}

export interface QueueFacts {
  group: string
  sequencer: Sequencer
  selector: AgentSelector
  roundRobinAt: string | null
  /** The line from its head on, without gaps. */
  waiting: readonly WaitingSession[]
  holding: readonly HoldingSession[]
  agents: readonly AgentCapacity[]
  /** What each owner uses now; only DRF reads it. */
  usedByOwner: ReadonlyMap<string, Quantities>
}

/** The ids of the waiting sessions in the order of their turns, as if each of them found a place. */
export function queueOrder({ waiting, ...facts }: QueueFacts): string[] {
  const sequence = sequenceOf(waiting.map(toPlaceable), facts.usedByOwner, facts)
  const ids: string[] = []
  for (let session = sequence.next(); session; session = sequence.next()) {
    ids.push(session.id)
    sequence.placed()
  }
  return ids
}

interface Ending extends Pick<HoldingSession, 'owner' | 'quotas' | 'kernels'> {
  at: number
}

/** In how many seconds sessions start. Those that never find a place are missing. */
export interface ExpectedStarts {
  starts: ReadonlyMap<string, number>
  /** Whether the estimate ended before the end of the line, after EXPECTED_START_STEPS_MAX steps. */
  isPart: boolean
}

/**
 * Estimates when each waiting session starts. At any time, only the first EXPECTED_START_REACH_MAX that still wait may
 * pass each other; with DRF, all. The use of the quotas changes.
 */
export function expectedStarts(facts: QueueFacts): ExpectedStarts {
  const { group, selector, agents, holding } = facts
  const free = new Map(agents.map((agent) => [agent.id, agent]))
  const used = new Map([...facts.usedByOwner].map(([owner, amounts]) => [owner, new Map(amounts)]))
  const ends = createHeap<Ending>((a, b) => a.at < b.at)
  for (const { endsInSeconds: at, ...held } of holding) if (at !== null) ends.push({ ...held, at })
  const turns = new Map(queueOrder(facts).map((id, turn) => [id, turn]))
  let waiting = facts.waiting
    .map((session) => ({ ...toPlaceable(session), usualSeconds: session.usualSeconds }))
    .toSorted((a, b) => turns.get(a.id)! - turns.get(b.id)!)
  const reach = facts.sequencer === 'DRF' ? waiting.length : EXPECTED_START_REACH_MAX
  const starts = new Map<string, number>()
  let { roundRobinAt } = facts
  let now = 0
  let steps = 0
  while (waiting.length > 0 && steps < EXPECTED_START_STEPS_MAX) {
    const first = waiting.slice(0, reach)
    steps += first.length + agents.length
    const pool = createAgentPool(agents.map(copyOf), selector, roundRobinAt)
    const sequence = sequenceOf(first, used, facts)
    const { placed, overtaken } = place({ sessions: first, sequence, longClasses: new Set(), group }, pool)
    roundRobinAt = pool.roundRobinAt
    const kernelsOf = new Map(placed.map(({ sessionId, kernels }) => [sessionId, kernels]))
    for (const session of first) {
      const kernels = kernelsOf.get(session.id)
      if (kernels === undefined) continue
      starts.set(session.id, now)
      start(session, kernels)
    }
    waiting = waiting
      .filter(({ id }) => !starts.has(id))
      .map((session) => ({ ...session, skips: session.skips + (overtaken.get(session.id) ?? 0) }))
    const next = ends.pop()
    if (next === undefined) return { starts, isPart: false }
    now = next.at
    end(next)
    for (let also = ends.pop(); also; also = ends.pop()) {
      if (also.at > now) {
        ends.push(also)
        break
      }
      end(also)
    }
  }
  return { starts, isPart: waiting.length > 0 }

  function start(session: (typeof waiting)[number], kernels: readonly { agentId: string }[]): void {
    const { owner, quotas, request, usualSeconds } = session
    for (const { agentId } of kernels) take(free.get(agentId)!, request.slots)
    const theirs = used.get(owner) ?? new Map<string, Quantity>()
    addQuantities(theirs, totalOf(request))
    used.set(owner, theirs)
    if (usualSeconds === null) return
    const held = kernels.map(({ agentId }) => ({ agentId, slots: request.slots }))
    ends.push({ at: now + usualSeconds, owner, quotas, kernels: held })
  }

  function end({ owner, quotas, kernels }: Ending): void {
    const total = new Map<string, Quantity>()
    for (const { agentId, slots } of kernels) {
      const agent = free.get(agentId)
      if (agent) giveBack(agent, slots)
      addQuantities(total, slots)
    }
    const less = new Map([...total].map(([slot, amount]) => [slot, -amount]))
    const theirs = used.get(owner)
    if (theirs) addQuantities(theirs, less)
    for (const quota of quotas) {
      quota.running -= 1
      for (const [slot, amount] of less) {
        const before = quota.usedSlots.get(slot)
        if (before !== undefined) quota.usedSlots.set(slot, before + amount)
      }
    }
  }
}

function sequenceOf<Session extends PlaceableSession>(
  sessions: readonly Session[],
  usedByOwner: ReadonlyMap<string, Quantities>,
  { sequencer, agents }: Pick<QueueFacts, 'sequencer' | 'agents'>,
): Sequence<Session> {
  if (sequencer !== 'DRF') return inOrderOfAge(sessions, sequencer === 'LIFO', sessions.length)
  const totals = new Map<string, Quantity>()
  for (const { capacity } of agents) addQuantities(totals, capacity)
  return byDominantShare(sessions, { usedByOwner, totals })
}

/** A session in line has the place of its concurrency key already, or has none. */
function toPlaceable(session: WaitingSession): PlaceableSession {
  return { ...session, keyUse: null, keyLimit: 1 }
}

/** Slots alone count: which GPUs of an agent become free is not known. */
function copyOf(agent: AgentCapacity): AgentCapacity {
  return { ...agent, free: new Map(agent.free), reserved: new Map(), gpus: null }
}

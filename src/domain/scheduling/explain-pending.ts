import { GPU_SLOTS } from '../gpu.ts'
import { HEAD_OF_LINE_SKIPS_MAX, QUEUE_POSITION_MAX } from '../limits.ts'
import { explainKey, firstQuotaShortage, type HeldKey, type QuotaShortage, type QuotaUse } from './quota-use.ts'
import { type AgentCapacity, freeOf, hasFreeGpus, holds, mostOf, ownsGpus, suits } from './agent-pool.ts'
import { describeGpus, explainGpus, isParticular } from './gpu-supply.ts'
import type { Sequencer } from './sequence.ts'
import {
  formatQuantity,
  missingVolumes,
  type Quantities,
  type Quantity,
  type ResourceRequest,
  totalOf,
  type Unit,
  unitOf,
} from './resource-request.ts'
import { describeAmount } from '../amounts.ts'

/** A snapshot of the facts about a PENDING session and its resource group. */
export interface PendingFacts {
  group: string
  sequencer: Sequencer
  /** `awaited` is the name of a group that its own group still waits for. */
  dependencies: { total: number; open: number; failed: string | null; awaited: string | null }
  /** ISO 8601; null if it has passed. */
  startsAt: string | null
  /** Why the session waits for its checkpoint, as text; null if it does not wait. */
  checkpoint: string | null
  /** Why no new chain may start, as text; null if one may, or if the session continues a chain. */
  checkpointQuota: string | null
  /** Milliseconds until the session is back in line; null if it is in line. */
  restsForMs: number | null
  /** Why nothing new is scheduled in its group, as text; null if the group is not drained. */
  drained: string | null
  /** The last error of this session; null for none. */
  lastError: string | null
  request: ResourceRequest
  /** The same without the restriction to agents with its checkpoint, which holds only for a time. */
  lastingRequest: ResourceRequest
  /** The agents that accept work, without the capacity that is reserved for overdue sessions before this one. */
  agents: readonly AgentCapacity[]
  /** The agents that accept no work now, but may do so again. */
  otherAgents: readonly AgentCapacity[]
  /** The number of agents of its group that accept no work, by status. */
  absent: Readonly<Record<string, number>>
  quotas: readonly QuotaUse[]
  /** The state of its concurrency key; null if it has none. */
  key: HeldKey | null
  /** The number of sessions before it in line, counted up to QUEUE_POSITION_MAX + 1. */
  before: number
}

export const CAPACITY_IS_RESERVED = `the capacity that it needs is reserved for a session that ${HEAD_OF_LINE_SKIPS_MAX} others were started before`

export interface PendingReason {
  text: string
  /** No agent that is known, and no quota as it is set, could ever take the session. */
  impossible: boolean
}

/**
 * Explains why the session still waits, with numbers: that it waits in vain, or else the first reason that applies.
 */
export function explainPending(facts: PendingFacts): PendingReason {
  const never = facts.dependencies.failed === null ? whyImpossible(facts) : undefined
  if (never !== undefined) return { text: `impossible: ${never}`, impossible: true }
  const text =
    beforeLine(facts) ??
    facts.drained ??
    noCapacity(facts) ??
    overQuota(facts)?.long ??
    (isReserved(facts) ? CAPACITY_IS_RESERVED : positionInQueue(facts))
  return { text, impossible: false }
}

/** The facts that decide whether a session waits in vain. The present use of quotas does not matter. */
type LastingFacts = Pick<PendingFacts, 'lastingRequest' | 'agents' | 'otherAgents' | 'group' | 'quotas'>

/** Whether a PENDING session without a failed dependency is `impossible`. */
export function waitsInVain(facts: LastingFacts): boolean {
  return whyImpossible(facts) !== undefined
}

function whyImpossible(facts: LastingFacts): string | undefined {
  const { lastingRequest: request, agents, otherAgents, group, quotas } = facts
  const known = [...agents, ...otherAgents]
  const shortage = explainShortage(request, known, group)
  if (shortage?.never === true) return shortage.long + nearestAgent(request, known)
  const quota = firstQuotaShortage(quotas, totalOf(request))
  return quota?.never === true ? quota.long : undefined
}

/** Names the agent that lacks the least for one kernel, or for all that must share a machine. */
function nearestAgent(request: ResourceRequest, known: readonly AgentCapacity[]): string {
  const { demand } = unitOf(request)
  const lackOf = (agent: AgentCapacity) =>
    Math.max(...[...demand].map(([slot, needed]) => 1 - Number(mostOf(agent, slot)) / Number(needed)))
  const lacking = known
    .filter((agent) => suits(request, agent))
    .map((agent) => ({ agent, lack: lackOf(agent) }))
    .toSorted((a, b) => a.lack - b.lack || (a.agent.id < b.agent.id ? -1 : 1))
  const [nearest] = lacking
  if (nearest === undefined || !(nearest.lack > 0)) return ''
  const has = [...demand.keys()].map((slot) => amount(slot, mostOf(nearest.agent, slot))).join(', ')
  return `; the nearest is ${nearest.agent.name ?? nearest.agent.id} with ${has}`
}

/**
 * A reason why no agent can take a session. `short` names what is missing, and stays the same as long as the session
 * waits for it; `long` has the present numbers.
 */
interface Shortage {
  /** Whether the agents could not take the session even if nothing ran on them. */
  forGood: boolean
  /** Whether that is because of the resources of these agents, and not because it may not go to them. */
  never?: boolean
  short: string
  long: string
}

type Has = (agent: AgentCapacity, slot: string) => Quantity

/**
 * Explains why a session does not fit; undefined if it fits into the free capacity, including what is reserved for
 * others.
 */
export function explainShortage(
  request: ResourceRequest,
  agents: readonly AgentCapacity[],
  group: string,
): Shortage | undefined {
  if (agents.length === 0) return always(`no agent of resource group ${group} is alive`)
  const suitable = agents.filter((agent) => suits(request, agent))
  const { volumeNeed } = request
  if (suitable.length === 0 && volumeNeed !== null) {
    const others = agents.filter((agent) => suits({ ...request, volumeNeed: null }, agent))
    if (others.length > 0)
      return always(missingVolumes(others, volumeNeed, `no agent of resource group ${group} that is alive`))
  }
  if (suitable.length === 0 && agents.some((agent) => suits({ ...request, needsPorts: false }, agent))) {
    return always(`ports of no agent of resource group ${group} that it may go to and that is alive can be reached`)
  }
  if (suitable.length === 0 && agents.some((agent) => suits({ ...request, excludeAgents: new Set() }, agent))) {
    return always(`it excludes every agent of resource group ${group} that it may go to and that is alive`)
  }
  if (suitable.length === 0) return always(`no agent of resource group ${group} that it may go to is alive`)
  const unit = unitOf(request)
  const owners = suitable.filter((agent) => ownsGpus(agent, request))
  if (owners.length === 0) {
    const supplies = suitable.map(({ gpus }) => gpus)
    return { ...always(explainGpus(request, supplies, group)), never: true }
  }
  const roomy = large(unit, owners)
  const ever =
    tooSmall(unit, owners, mostOf) ??
    (roomy.length === 0 ? { slot: undefined, most: 0n } : shortOf(unit, roomy, capacityOf))
  if (ever) return { ...always(explainImpossible(unit, ever, group, owners)), never: true }
  const now = shortOf(unit, roomy, freeOf)
  const isOfGpus = isParticular(request) && (GPU_SLOTS as readonly unknown[]).includes(now?.slot)
  if (now !== undefined && !isOfGpus) return { forGood: false, ...explainLack(unit, now, group) }
  const free = roomy.filter((agent) => hasFreeGpus(agent, request))
  if (now === undefined && shortOf(unit, free, freeOf) === undefined) return undefined
  const words = `needs ${describeGpus(request)} on one agent, which no agent of resource group ${group} has free`
  return { forGood: false, short: words, long: words }
}

function beforeLine({
  dependencies,
  startsAt,
  restsForMs,
  lastError,
  drained,
  key,
  checkpoint,
  checkpointQuota,
}: PendingFacts): string | undefined {
  const { total, open, failed, awaited } = dependencies
  if (failed !== null) return `depends on session ${failed}, whose chain has failed; it is about to be cancelled`
  if (startsAt !== null) return `starts no earlier than ${startsAt}`
  if (awaited !== null) return `waits for group ${awaited}, which its own group depends on`
  if (open > 0) return `waits for ${open} of the ${total} ${total === 1 ? 'chain' : 'chains'} that it depends on`
  const forCheckpoints = checkpoint ?? checkpointQuota
  if (forCheckpoints !== null && drained === null) return forCheckpoints
  const forKey = key === null || drained !== null ? undefined : explainKey(key)
  if (forKey !== undefined || restsForMs === null) return forKey
  const rests = `rests for ${Math.ceil(restsForMs / 1000)} s`
  return lastError === null ? rests : `${rests} after a failure: ${lastError}`
}

function noCapacity({ request, agents, group, absent }: PendingFacts): string | undefined {
  const shortage = explainShortage(request, agents, group)
  if (!shortage || agents.length > 0) return shortage?.long
  const others = Object.entries(absent).map(([status, count]) => `${count} ${status}`)
  return `${shortage.long} (${others.length > 0 ? others.join(', ') : 'it has none'})`
}

function overQuota({ quotas, request }: PendingFacts): QuotaShortage | undefined {
  return firstQuotaShortage(quotas, totalOf(request))
}

function isReserved({ request, agents }: PendingFacts): boolean {
  return !fitsUnreserved(request, agents)
}

function positionInQueue({ sequencer, before, group }: PendingFacts): string {
  const many = before > QUEUE_POSITION_MAX ? `more than ${QUEUE_POSITION_MAX}` : String(before)
  const sessions = before === 1 ? 'session' : 'sessions'
  if (sequencer === 'DRF')
    return `waits for its turn by dominant shares, with ${many} other ${sessions} of resource group ${group}`
  if (before === 0) return `is the next in the line of resource group ${group}`
  return `waits for its turn, ${many} ${sessions} before it in the line of resource group ${group}`
}

/** Whether the session fits into what is free and not reserved for others. */
function fitsUnreserved(request: ResourceRequest, agents: readonly AgentCapacity[]): boolean {
  const suitable = agents.filter((agent) => suits(request, agent))
  const unit = unitOf(request)
  return shortOf(unit, large(unit, suitable), (agent, slot) => agent.free.get(slot) ?? 0n) === undefined
}

function capacityOf(agent: AgentCapacity, slot: string): Quantity {
  return agent.capacity.get(slot) ?? 0n
}

/** Selects the agents that have a large enough machine. */
function large({ demand }: Unit, agents: readonly AgentCapacity[]): AgentCapacity[] {
  return agents.filter((agent) => holds(agent, demand))
}

function explainImpossible(unit: Unit, { slot, most }: Short, group: string, agents: readonly AgentCapacity[]): string {
  if (slot !== undefined) {
    const asks = `it asks for ${describe(slot, unit.demand.get(slot)!)}`
    const isSpread = agents.some((agent) => capacityOf(agent, slot) > most)
    const who = isSpread ? 'machine' : 'agent'
    const where = unit.kernels === 1 ? '' : ` for its ${unit.kernels} kernels on one ${who}`
    return `no ${who} of resource group ${group} has more than ${amount(slot, most)}, ${asks}${where}`
  }
  return unit.count === 1
    ? `no agent of resource group ${group} has all of ${all(unit.demand)}, which it asks for on one agent`
    : `the agents of resource group ${group} have capacity for at most ${most} of its ${unit.count} kernels of ${all(unit.demand)}`
}

function explainLack(unit: Unit, { slot, most }: Short, group: string): Pick<Shortage, 'short' | 'long'> {
  const agent = `agent of resource group ${group} has free`
  if (slot !== undefined) {
    const needs = `needs ${amount(slot, unit.demand.get(slot)!)}`
    return {
      short: `${needs}, more than any ${agent}`,
      long: `${needs}, the most that an ${agent} is ${describe(slot, most)}`,
    }
  }
  const needs = `needs ${all(unit.demand)}`
  if (unit.count === 1) {
    const words = `${needs}, no ${agent} all of it`
    return { short: words, long: words }
  }
  const each = `for each of its ${unit.count} kernels; the agents of resource group ${group} have capacity for`
  return { short: `${needs} ${each} fewer`, long: `${needs} ${each} ${most}` }
}

function always(words: string): Shortage {
  return { forGood: true, short: words, long: words }
}

type Short = { slot: string; most: Quantity } | { slot: undefined; most: bigint }

/**
 * Finds the slot of which no agent has enough for one unit, with the most that any agent has. If there is none, returns
 * how many units fit in total, if too few.
 */
function shortOf(unit: Unit, agents: readonly AgentCapacity[], has: Has): Short | undefined {
  const small = tooSmall(unit, agents, has)
  if (small) return small
  let units = 0n
  for (const agent of agents) units += unitsIn(agent, unit, has)
  return units >= BigInt(unit.count) ? undefined : { slot: undefined, most: units }
}

/** Finds the slot of which no agent has enough for one unit. */
function tooSmall(unit: Unit, agents: readonly AgentCapacity[], has: Has): Short | undefined {
  for (const [slot, needed] of unit.demand) {
    let most = 0n
    for (const agent of agents) if (has(agent, slot) > most) most = has(agent, slot)
    if (most < needed) return { slot, most }
  }
  return undefined
}

function unitsIn(agent: AgentCapacity, { demand, count }: Unit, has: Has): bigint {
  let units = BigInt(count)
  for (const [slot, needed] of demand) {
    const fit = has(agent, slot) / needed
    if (fit < units) units = fit > 0n ? fit : 0n
  }
  return units
}

function all(demand: Quantities): string {
  return [...demand].map(([slot, quantity]) => amount(slot, quantity)).join(', ')
}

function amount(slot: string, quantity: Quantity): string {
  return `${slot} ${describe(slot, quantity)}`
}

function describe(slot: string, quantity: Quantity): string {
  return describeAmount(slot, formatQuantity(quantity))
}

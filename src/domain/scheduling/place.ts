import { HEAD_OF_LINE_SKIPS_MAX } from '../limits.ts'
import type { ClusterMode } from '../session/statuses.ts'
import { formatQuantity, type Quantities, type Quantity } from './quantity.ts'

export type AgentSelector = 'CONCENTRATED' | 'DISPERSED' | 'ROUND_ROBIN'

export interface PlaceableSession {
  id: string
  clusterMode: ClusterMode
  kernelIds: readonly string[]
  /** What each kernel needs. */
  slots: Quantities
  /** How often sessions behind it went first. */
  skips: number
  /** Go last, and only where nothing else fits. */
  avoidAgents: ReadonlySet<string>
  /** Only these; empty for all. */
  allowAgents: ReadonlySet<string>
}

/** `free` is used up as sessions are placed. */
export interface AgentRoom {
  id: string
  free: Map<string, Quantity>
  /** What it has free when nothing runs on it. */
  capacity: Quantities
  kernels: number
}

export interface Placement {
  placed: { sessionId: string; kernels: { kernelId: string; agentId: string }[] }[]
  skipped: { sessionId: string; reason: string }[]
  /** Sessions that one behind them went past. */
  overtaken: string[]
  /** Nothing fitted, nobody holds the line, and some agent has something of everything free: others may fit. */
  othersMayFit: boolean
}

/**
 * Gives sessions, in the order given, to the agents of one group. One that does not fit lets those behind it
 * pass, a bounded number of times: then it holds the line until it fits, unless these agents could never take it.
 */
export function place(sessions: readonly PlaceableSession[], agents: AgentRoom[], selector: AgentSelector): Placement {
  const placement: Placement = { placed: [], skipped: [], overtaken: [], othersMayFit: false }
  const waiting: string[] = []
  let holder: PlaceableSession | undefined
  for (const session of sessions) {
    if (holder) {
      const reason = `waits behind session ${holder.id}, which was passed over ${holder.skips} times`
      placement.skipped.push({ sessionId: session.id, reason })
      continue
    }
    const kernels = placeOne(session, agents, selector)
    if (kernels) {
      placement.placed.push({ sessionId: session.id, kernels })
      placement.overtaken.push(...waiting.splice(0))
      continue
    }
    placement.skipped.push({ sessionId: session.id, reason: whyNot(session, agents) })
    waiting.push(session.id)
    if (session.skips >= HEAD_OF_LINE_SKIPS_MAX && couldEverFit(session, agents, selector)) holder = session
  }
  placement.othersMayFit = !holder && placement.placed.length === 0 && agents.some(hasSomeOfEverything)
  return placement
}

function placeOne(session: PlaceableSession, agents: AgentRoom[], selector: AgentSelector) {
  const candidates = order(session, agents, selector)
  const chosen: { kernelId: string; agent: AgentRoom }[] = []
  for (const kernelId of session.kernelIds) {
    const sameAgent = session.clusterMode === 'SINGLE_NODE' ? chosen[0]?.agent : undefined
    const agent = sameAgent
      ? fits(sameAgent, session.slots, 1n)
        ? sameAgent
        : undefined
      : candidates.find((candidate) => fits(candidate, session.slots, kernelsAtOnce(session)))
    if (!agent) {
      for (const { agent: taken } of chosen) add(taken, session.slots, 1n)
      return undefined
    }
    add(agent, session.slots, -1n)
    chosen.push({ kernelId, agent })
  }
  for (const { agent } of chosen) agent.kernels += 1
  return chosen.map(({ kernelId, agent }) => ({ kernelId, agentId: agent.id }))
}

function hasSomeOfEverything({ free }: AgentRoom): boolean {
  return [...free.values()].every((quantity) => quantity > 0n)
}

function couldEverFit(session: PlaceableSession, agents: readonly AgentRoom[], selector: AgentSelector): boolean {
  const empty = agents.map((agent) => ({ ...agent, free: new Map(agent.capacity) }))
  return placeOne(session, empty, selector) !== undefined
}

/** A single-node session needs room for all its kernels on the agent that takes the first. */
function kernelsAtOnce(session: PlaceableSession): bigint {
  return session.clusterMode === 'SINGLE_NODE' ? BigInt(session.kernelIds.length) : 1n
}

function order(session: PlaceableSession, agents: AgentRoom[], selector: AgentSelector): AgentRoom[] {
  const allowed = session.allowAgents.size === 0 ? agents : agents.filter(({ id }) => session.allowAgents.has(id))
  if (allowed.length < 2) return [...allowed]
  const avoided = (agent: AgentRoom) => (session.avoidAgents.has(agent.id) ? 1 : 0)
  const byLoad =
    selector === 'CONCENTRATED'
      ? (a: AgentRoom, b: AgentRoom) => b.kernels - a.kernels
      : (a: AgentRoom, b: AgentRoom) => a.kernels - b.kernels
  return allowed.toSorted((a, b) => avoided(a) - avoided(b) || byLoad(a, b) || (a.id < b.id ? -1 : 1))
}

function fits(agent: AgentRoom, slots: Quantities, times: bigint): boolean {
  for (const [slot, amount] of slots) if ((agent.free.get(slot) ?? 0n) < amount * times) return false
  return true
}

function add(agent: AgentRoom, slots: Quantities, times: bigint): void {
  for (const [slot, amount] of slots) agent.free.set(slot, (agent.free.get(slot) ?? 0n) + amount * times)
}

/** In words, with the numbers of the agent that has the most of what is short. */
function whyNot(session: PlaceableSession, agents: readonly AgentRoom[]): string {
  if (agents.length === 0) return 'no agent of its resource group is alive'
  const times = kernelsAtOnce(session)
  for (const [slot, amount] of session.slots) {
    const most = agents.reduce(
      (max, agent) => (max > (agent.free.get(slot) ?? 0n) ? max : (agent.free.get(slot) ?? 0n)),
      0n,
    )
    if (most < amount * times) {
      return `needs ${slot} ${formatQuantity(amount * times)}, the most that an agent has free is ${formatQuantity(most)}`
    }
  }
  return 'no one agent has all of the slots free that it needs'
}

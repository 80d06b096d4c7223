import { HEAD_OF_LINE_SKIPS_MAX, LINE_KEEPS_MAX } from '../limits.ts'
import type { AgentPool, Kept } from './agent-pool.ts'
import { ROOM_IS_KEPT } from './explain-pending.ts'
import { explainShortage } from './explain-shortage.ts'
import { firstQuotaShortage, takeQuota, type QuotaRoom } from './quota-room.ts'
import { compareAge, holdsLine, type Sequence, type Sequenced } from './sequence.ts'
import { totalOf } from './shape.ts'

export interface PlaceableSession extends Sequenced {
  kernelIds: readonly string[]
  /** Sessions of one owner, shape and priority form a lane: if one does not fit, none behind it does. */
  lane: string
  /**
   * The lane under which it was claimed. Claims distinguish lanes by hash, so lanes with equal hashes are one there.
   */
  claimedLane: string
  /** These agents are chosen last, and only if nothing else fits. */
  avoidAgents: ReadonlySet<string>
  /** The quotas that limit it. */
  quotas: readonly QuotaRoom[]
}

export interface Placement {
  placed: { sessionId: string; kernels: { kernelId: string; agentId: string }[] }[]
  /** With the reason, in words that stay the same as long as it waits for the same thing. */
  skipped: { sessionId: string; reason: string }[]
  /** How many younger sessions of no higher priority overtook each session. */
  overtaken: Map<string, number>
  /** Placement stopped because the next session in order was not among those given: there is more to place. */
  ranOut: boolean
}

export interface Line {
  sessions: readonly PlaceableSession[]
  sequence: Sequence<PlaceableSession>
  /** Claimed lanes that may have more waiting sessions than those given. */
  longLanes: ReadonlySet<string>
  group: string
}

interface Waiting {
  session: PlaceableSession
  /** The number of sessions that had been placed without overtaking it by the time of its turn. */
  since: number
}

/**
 * Places sessions on agents, in the order of the sequence. A session that does not fit may be overtaken a bounded
 * number of times; then it holds the line. Room is kept for it on the agents that lack the least, and other sessions
 * get only what is left. Sessions of a higher priority may take the kept room too, but only if they fit nowhere else. A
 * quota stops only the sessions that it limits.
 */
export function place({ sessions, sequence, longLanes, group }: Line, pool: AgentPool): Placement {
  const placement: Placement = { placed: [], skipped: [], overtaken: new Map(), ranOut: false }
  const left = new Map<string, number>()
  for (const { claimedLane } of sessions) left.set(claimedLane, (left.get(claimedLane) ?? 0) + 1)
  const stopped = new Map<string, string>()
  let waiting: Waiting[] = []
  const placed: PlaceableSession[] = []
  const keeps = new Map<PlaceableSession, Kept>()

  function skip(session: PlaceableSession, reason: string): void {
    placement.skipped.push({ sessionId: session.id, reason })
    stopped.set(session.lane, reason)
  }

  function hold(session: PlaceableSession): void {
    if (keeps.size >= LINE_KEEPS_MAX) return
    const kept = pool.keepFor(session.shape, session.avoidAgents)
    if (kept) keeps.set(session, kept)
  }

  function release(session: PlaceableSession): void {
    const kept = keeps.get(session)
    if (kept) pool.release(kept)
    keeps.delete(session)
  }

  /** Returns true if room had been kept for sessions of a lower priority; it is free now. */
  function releaseBelow({ priority }: PlaceableSession): boolean {
    const lower = [...keeps.keys()].filter((holder) => holder.priority < priority)
    lower.forEach(release)
    return lower.length > 0
  }

  function agentsFor(session: PlaceableSession): string[] | undefined {
    release(session)
    const { shape, avoidAgents } = session
    return pool.place(shape, avoidAgents) ?? (releaseBelow(session) ? pool.place(shape, avoidAgents) : undefined)
  }

  function overQuota({ quotas, shape }: PlaceableSession): string | undefined {
    return firstQuotaShortage(quotas, totalOf(shape))?.short
  }

  /** Lets sessions that have been overtaken too often hold the line. */
  function holdOverdue(): void {
    const due = waiting.filter((one) => one.session.skips + passesOf(one) >= HEAD_OF_LINE_SKIPS_MAX)
    if (due.length === 0) return
    waiting = waiting.filter((one) => !due.includes(one))
    for (const one of due) {
      note(one)
      hold(one.session)
    }
  }

  function passesOf({ since }: Waiting): number {
    return placed.length - since
  }

  /**
   * With the youngest first, the sessions placed before its turn have overtaken it as well; otherwise it might never
   * start.
   */
  function passedAlready(session: PlaceableSession): number {
    if (!sequence.youngestFirst) return 0
    return placed.filter((other) => other.priority === session.priority && compareAge(session, other) < 0).length
  }

  function note(one: Waiting): void {
    const passes = passesOf(one)
    if (passes > 0) placement.overtaken.set(one.session.id, passes)
  }

  const holders = sessions.filter((session) => holdsLine(session) && !overQuota(session))
  for (const session of holders.toSorted((a, b) => b.priority - a.priority || compareAge(a, b))) hold(session)
  for (let session = sequence.next(); session; session = sequence.next()) {
    const reason = stopped.get(session.lane) ?? overQuota(session)
    if (reason !== undefined) {
      release(session)
      skip(session, reason)
      continue
    }
    const agents = agentsFor(session)
    if (agents) {
      for (const quota of session.quotas) takeQuota(quota, totalOf(session.shape))
      sequence.placed()
      placed.push(session)
      const kernels = session.kernelIds.map((kernelId, n) => ({ kernelId, agentId: agents[n]! }))
      placement.placed.push({ sessionId: session.id, kernels })
      const more = left.get(session.claimedLane)! - 1
      left.set(session.claimedLane, more)
      if (more === 0 && longLanes.has(session.claimedLane)) {
        sequence.ranOut()
        placement.ranOut = true
      }
      holdOverdue()
      continue
    }
    const shortage = explainShortage(session.shape, pool.rooms, group)
    skip(session, shortage?.short ?? ROOM_IS_KEPT)
    if (shortage?.forGood) continue
    if (holdsLine(session)) hold(session)
    else waiting.push({ session, since: placed.length - passedAlready(session) })
  }
  waiting.forEach(note)
  return placement
}

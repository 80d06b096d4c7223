import type { AgentPool, Avoided } from './agent-pool.ts'
import { ROOM_IS_KEPT } from './explain-pending.ts'
import { explainShortage } from './explain-shortage.ts'
import { createKeptRooms } from './kept-rooms.ts'
import { createOvertaking } from './overtaking.ts'
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
  avoidAgents: Avoided
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

/**
 * Places sessions on agents, in the order of the sequence. A session that does not fit may be overtaken a bounded
 * number of times; then it holds the line. Room is kept for it on the agents that lack the least, and other sessions
 * get only what is left. Sessions of a higher priority may take the kept room too, but only if they fit nowhere else. A
 * quota stops only the sessions that it limits.
 */
export function place({ sessions, sequence, longLanes, group }: Line, pool: AgentPool): Placement {
  const placed: Placement['placed'] = []
  const skipped: Placement['skipped'] = []
  let ranOut = false
  const left = new Map<string, number>()
  for (const { claimedLane } of sessions) left.set(claimedLane, (left.get(claimedLane) ?? 0) + 1)
  const stopped = new Map<string, string>()
  const keptRooms = createKeptRooms<PlaceableSession>(pool)
  const overtaking = createOvertaking<PlaceableSession>(sequence.youngestFirst)

  function skip(session: PlaceableSession, reason: string): void {
    skipped.push({ sessionId: session.id, reason })
    stopped.set(session.lane, reason)
  }

  function take(session: PlaceableSession, agents: readonly string[]): void {
    for (const quota of session.quotas) takeQuota(quota, totalOf(session.shape))
    const kernels = session.kernelIds.map((kernelId, n) => ({ kernelId, agentId: agents[n]! }))
    placed.push({ sessionId: session.id, kernels })
    sequence.placed()
    overtaking.placed(session)
    const more = left.get(session.claimedLane)! - 1
    left.set(session.claimedLane, more)
    if (more > 0 || !longLanes.has(session.claimedLane)) return
    sequence.ranOut()
    ranOut = true
  }

  const holders = sessions.filter((session) => holdsLine(session) && !overQuota(session))
  holders.toSorted((a, b) => b.priority - a.priority || compareAge(a, b)).forEach(keptRooms.hold)
  for (let session = sequence.next(); session; session = sequence.next()) {
    const reason = stopped.get(session.lane) ?? overQuota(session)
    if (reason !== undefined) {
      keptRooms.release(session)
      skip(session, reason)
      continue
    }
    const agents = keptRooms.place(session)
    if (agents) {
      take(session, agents)
      overtaking.takeOverdue().forEach(keptRooms.hold)
      continue
    }
    const shortage = explainShortage(session.shape, pool.rooms, group)
    skip(session, shortage?.short ?? ROOM_IS_KEPT)
    if (shortage?.forGood) continue
    if (holdsLine(session)) keptRooms.hold(session)
    else overtaking.waits(session)
  }
  return { placed, skipped, overtaken: overtaking.counts(), ranOut }
}

function overQuota({ quotas, shape }: PlaceableSession): string | undefined {
  return firstQuotaShortage(quotas, totalOf(shape))?.short
}

import type { AgentPool, Avoided, Reservation } from './agent-pool.ts'
import { CAPACITY_IS_RESERVED, explainShortage } from './explain-pending.ts'
import { createOvertaking } from './overtaking.ts'
import { firstQuotaShortage, type KeyCandidate, keyShortage, type QuotaUse, takeKey, takeQuota } from './quota-use.ts'
import { compareAge, isOverdue, type Sequence, type Sequenced } from './sequence.ts'
import { type ResourceRequest, totalOf } from './resource-request.ts'
import { RESERVATIONS_MAX } from '../limits.ts'

export interface PlaceableSession extends Sequenced, Pick<KeyCandidate, 'keyUse' | 'keyLimit'> {
  kernelIds: readonly string[]
  /**
   * Sessions of one owner, request and priority form a scheduling class: if one does not fit, none of the sessions
   * behind it fits.
   */
  schedulingClass: string
  /**
   * The class under which the session was claimed. Claims identify classes by hash, so classes with equal hashes count
   * as one there.
   */
  claimedClass: string
  /** Agents that are chosen last, only if nothing else fits. */
  avoidAgents: Avoided
  /** The quotas that limit it. */
  quotas: readonly QuotaUse[]
}

export interface Placement {
  placed: { sessionId: string; kernels: { kernelId: string; agentId: string }[] }[]
  /** The reason is text that stays the same as long as the session waits for the same thing. */
  skipped: { sessionId: string; reason: string }[]
  /**
   * The skipped sessions that wait for their concurrency key. `yields` means that the key has a free place, but other
   * sessions come first.
   */
  forKey: Map<string, { yields: boolean }>
  /** How many younger sessions of no higher priority overtook each session. */
  overtaken: Map<string, number>
  /**
   * Placement stopped because the session whose turn it was may not have been read from the database: another pass is
   * needed.
   */
  ranOut: boolean
}

export interface Line {
  sessions: readonly PlaceableSession[]
  sequence: Sequence<PlaceableSession>
  /** Claimed classes that may have more waiting sessions than were read from the database. */
  longClasses: ReadonlySet<string>
  group: string
}

/**
 * Places sessions on agents, in the order of the sequence. A session that does not fit may be overtaken a bounded
 * number of times; then it is overdue: capacity is reserved for it on the agents that lack the least, and other
 * sessions get only what is left. Sessions of a higher priority may take the reserved capacity too, but only if they
 * fit nowhere else. A quota stops only the sessions that it limits, and a concurrency key only the sessions that have
 * it.
 */
export function place({ sessions, sequence, longClasses, group }: Line, pool: AgentPool): Placement {
  const placed: Placement['placed'] = []
  const skipped: Placement['skipped'] = []
  const forKey: Placement['forKey'] = new Map()
  let ranOut = false
  const left = new Map<string, number>()
  for (const { claimedClass } of sessions) left.set(claimedClass, (left.get(claimedClass) ?? 0) + 1)
  const stopped = new Map<string, string>()
  const reservations = createReservations<PlaceableSession>(pool)
  const overtaking = createOvertaking<PlaceableSession>(sequence.youngestFirst)

  function skip(session: PlaceableSession, reason: string): void {
    skipped.push({ sessionId: session.id, reason })
    stopped.set(session.schedulingClass, reason)
  }

  function take(session: PlaceableSession, agents: readonly string[]): void {
    for (const quota of session.quotas) takeQuota(quota, totalOf(session.request))
    takeKey(session)
    const kernels = session.kernelIds.map((kernelId, n) => ({ kernelId, agentId: agents[n]! }))
    placed.push({ sessionId: session.id, kernels })
    sequence.placed()
    overtaking.placed(session)
    leaveClass(session)
  }

  function leaveClass(session: PlaceableSession): void {
    const more = left.get(session.claimedClass)! - 1
    left.set(session.claimedClass, more)
    if (more > 0 || !longClasses.has(session.claimedClass)) return
    sequence.ranOut()
    ranOut = true
  }

  const overdue = sessions.filter((session) => isOverdue(session) && !overQuota(session) && !keyShortage(session))
  overdue.toSorted((a, b) => b.priority - a.priority || compareAge(a, b)).forEach(reservations.reserve)
  for (let session = sequence.next(); session; session = sequence.next()) {
    const reason = stopped.get(session.schedulingClass) ?? overQuota(session)
    if (reason !== undefined) {
      reservations.release(session)
      skip(session, reason)
      continue
    }
    const key = keyShortage(session)
    if (key) {
      // Sessions behind it in its class may have other keys, or none.
      reservations.release(session)
      skipped.push({ sessionId: session.id, reason: key.short })
      forKey.set(session.id, { yields: key.yields })
      leaveClass(session)
      continue
    }
    const agents = reservations.place(session)
    if (agents) {
      take(session, agents)
      overtaking.takeOverdue().forEach(reservations.reserve)
      continue
    }
    const shortage = explainShortage(session.request, pool.agents, group)
    skip(session, shortage?.short ?? CAPACITY_IS_RESERVED)
    if (shortage?.forGood) continue
    if (isOverdue(session)) reservations.reserve(session)
    else overtaking.waits(session)
  }
  return { placed, skipped, forKey, overtaken: overtaking.counts(), ranOut }
}

function overQuota({ quotas, request }: PlaceableSession): string | undefined {
  return firstQuotaShortage(quotas, totalOf(request))?.short
}

interface Placeable {
  priority: number
  request: ResourceRequest
  avoidAgents: Avoided
}

/** Backfill reservations: the capacity of a pool that is reserved for overdue sessions. */
interface Reservations<Session extends Placeable> {
  /**
   * Reserves capacity for the session, unless `RESERVATIONS_MAX` others have a reservation or the session could never
   * fit.
   */
  reserve(session: Session): void
  release(session: Session): void
  /**
   * Chooses an agent for each kernel. The session may use its own reservation, and reservations of a lower priority if
   * it fits nowhere else. Undefined if it does not fit.
   */
  place(session: Session): string[] | undefined
}

function createReservations<Session extends Placeable>(pool: AgentPool): Reservations<Session> {
  const reservations = new Map<Session, Reservation>()

  function release(session: Session): void {
    const reservation = reservations.get(session)
    if (reservation) pool.release(reservation)
    reservations.delete(session)
  }

  /** Releases the reservations of a lower priority. Returns true if there were any. */
  function releaseBelow({ priority }: Session): boolean {
    const lower = [...reservations.keys()].filter((other) => other.priority < priority)
    lower.forEach(release)
    return lower.length > 0
  }

  return {
    reserve(session) {
      if (reservations.size >= RESERVATIONS_MAX) return
      const reservation = pool.reserve(session.request, session.avoidAgents)
      if (reservation) reservations.set(session, reservation)
    },
    release,
    place(session) {
      release(session)
      const { request, avoidAgents } = session
      return pool.place(request, avoidAgents) ?? (releaseBelow(session) ? pool.place(request, avoidAgents) : undefined)
    },
  }
}

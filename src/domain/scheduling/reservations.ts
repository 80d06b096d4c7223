import { RESERVATIONS_MAX } from '../limits.ts'
import type { AgentPool, Avoided, Reservation } from './agent-pool.ts'
import type { ResourceRequest } from './resource-request.ts'

interface Placeable {
  priority: number
  request: ResourceRequest
  avoidAgents: Avoided
}

/** Backfill reservations: the capacity of a pool that is reserved for overdue sessions. */
export interface Reservations<Session extends Placeable> {
  /** Reserves capacity for the session, unless `RESERVATIONS_MAX` others have theirs or it could never fit. */
  reserve(session: Session): void
  release(session: Session): void
  /**
   * The agent of each kernel. The session may use what is reserved for it, and what is reserved for sessions of a lower
   * priority if it fits nowhere else. Undefined if it does not fit.
   */
  place(session: Session): string[] | undefined
}

export function createReservations<Session extends Placeable>(pool: AgentPool): Reservations<Session> {
  const reservations = new Map<Session, Reservation>()

  function release(session: Session): void {
    const reservation = reservations.get(session)
    if (reservation) pool.release(reservation)
    reservations.delete(session)
  }

  /** Returns true if capacity was reserved for sessions of a lower priority; it is free now. */
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

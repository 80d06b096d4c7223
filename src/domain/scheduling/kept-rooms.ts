import { LINE_KEEPS_MAX } from '../limits.ts'
import type { AgentPool, Avoided, Kept } from './agent-pool.ts'
import type { Shape } from './shape.ts'

interface Placeable {
  priority: number
  shape: Shape
  avoidAgents: Avoided
}

/** The room of a pool that is kept for sessions that hold the line. */
export interface KeptRooms<Session extends Placeable> {
  /** Keeps room for the session, unless `LINE_KEEPS_MAX` others have theirs or it could never fit. */
  hold(session: Session): void
  release(session: Session): void
  /**
   * The agent of each kernel. The session may use its own kept room, and that of sessions of a lower priority if it fits
   * nowhere else. Undefined if it does not fit.
   */
  place(session: Session): string[] | undefined
}

export function createKeptRooms<Session extends Placeable>(pool: AgentPool): KeptRooms<Session> {
  const keeps = new Map<Session, Kept>()

  function release(session: Session): void {
    const kept = keeps.get(session)
    if (kept) pool.release(kept)
    keeps.delete(session)
  }

  /** Returns true if room had been kept for sessions of a lower priority; it is free now. */
  function releaseBelow({ priority }: Session): boolean {
    const lower = [...keeps.keys()].filter((holder) => holder.priority < priority)
    lower.forEach(release)
    return lower.length > 0
  }

  return {
    hold(session) {
      if (keeps.size >= LINE_KEEPS_MAX) return
      const kept = pool.keepFor(session.shape, session.avoidAgents)
      if (kept) keeps.set(session, kept)
    },
    release,
    place(session) {
      release(session)
      const { shape, avoidAgents } = session
      return pool.place(shape, avoidAgents) ?? (releaseBelow(session) ? pool.place(shape, avoidAgents) : undefined)
    },
  }
}

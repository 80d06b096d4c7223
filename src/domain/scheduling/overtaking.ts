import { HEAD_OF_LINE_SKIPS_MAX } from '../limits.ts'
import { compareAge, type Sequenced } from './sequence.ts'

/** Counts how often each waiting session is overtaken by younger sessions of no higher priority. */
export interface Overtaking<Session extends Sequenced> {
  placed(session: Session): void
  /**
   * Registers a session that does not fit. Each session that is placed from now on overtakes it. If the youngest go
   * first, the sessions placed before have overtaken it too.
   */
  waits(session: Session): void
  /** Returns the sessions that have now been overtaken `HEAD_OF_LINE_SKIPS_MAX` times; each is returned once. */
  takeOverdue(): Session[]
  /**
   * The counts by session id. Sessions that were not overtaken have none; those returned by `takeOverdue` keep their
   * count of that moment.
   */
  counts(): Map<string, number>
}

interface Waiting<Session> {
  session: Session
  /** The number of sessions that were placed before this session's turn and did not overtake it. */
  since: number
}

export function createOvertaking<Session extends Sequenced>(youngestFirst: boolean): Overtaking<Session> {
  const placed: Session[] = []
  const overdue = new Map<string, number>()
  let waiting: Waiting<Session>[] = []

  const passesOf = ({ since }: Waiting<Session>) => placed.length - since

  /**
   * The number of sessions that have overtaken this one before its turn. If the youngest go first, all sessions placed
   * before count; otherwise an old session might never start.
   */
  function passedAlready(session: Session): number {
    if (!youngestFirst) return 0
    return placed.filter((other) => other.priority === session.priority && compareAge(session, other) < 0).length
  }

  return {
    placed(session) {
      placed.push(session)
    },
    waits(session) {
      waiting.push({ session, since: placed.length - passedAlready(session) })
    },
    takeOverdue() {
      const due = waiting.filter((one) => one.session.skips + passesOf(one) >= HEAD_OF_LINE_SKIPS_MAX)
      if (due.length === 0) return []
      waiting = waiting.filter((one) => !due.includes(one))
      for (const one of due) overdue.set(one.session.id, passesOf(one))
      return due.map(({ session }) => session)
    },
    counts() {
      const counts = new Map(overdue)
      for (const one of waiting) counts.set(one.session.id, passesOf(one))
      return new Map([...counts].filter(([, passes]) => passes > 0))
    },
  }
}

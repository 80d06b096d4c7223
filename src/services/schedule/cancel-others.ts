import type { Queryable } from '../../store/database.ts'
import { lockSessions, type LockedSession } from '../../store/sql/retry/lock-sessions.sql.ts'
import type { HeldSchedule } from '../../store/sql/schedule/claim-schedules.sql.ts'
import { readOpenAttempts, type OpenAttempt } from '../../store/sql/schedule/schedule-runs.sql.ts'
import { endAttempts } from '../retry/end-attempts.ts'
import { retryCancelledBy } from '../retry/pending-retry.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOfSchedule } from './start-runs.ts'

/** Ends the chains of these schedules that go on, so that a later run can start. Returns how many. */
export async function cancelOthers(
  tx: Queryable,
  { log }: Pick<ServiceContext, 'log'>,
  schedules: readonly HeldSchedule[],
): Promise<number> {
  if (schedules.length === 0) return 0
  const ids = schedules.map(({ id }) => id)
  const locked = new Map<string, LockedSession>()
  let open: OpenAttempt[] = []
  // Until it is locked, an attempt may be replaced by its retry.
  for (let round = 0; round < 2; round++) {
    open = await readOpenAttempts(tx, ids)
    const loose = open.flatMap(({ sessionId }) => (locked.has(sessionId) ? [] : [sessionId]))
    if (loose.length === 0) break
    for (const [id, session] of await lockSessions(tx, loose, null)) locked.set(id, session)
  }
  let cancelled = 0
  for (const schedule of schedules) {
    const sessions = open.flatMap(({ scheduleId, sessionId }) =>
      scheduleId === schedule.id ? (locked.get(sessionId) ?? []) : [],
    )
    const reason = `a later run of schedule ${schedule.name} takes its place`
    const told = retryCancelledBy(schedule.owner, reason)
    const options = { actor: actorOfSchedule(schedule), force: false, reason, told, log }
    cancelled += (await endAttempts(tx, sessions, options)).ended.size
  }
  return cancelled
}

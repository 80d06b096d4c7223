import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import type { Actor } from '../../store/sql/access/record-audit.sql.ts'
import type { HeldSchedule } from '../../store/sql/schedule/claim-schedules.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { addSessions } from '../session/add-sessions.ts'
import { planRunSessions } from './plan-run.ts'

/**
 * Creates a session for each of these schedules, with the rights of its owner and within the owner's quotas. By the id
 * of the schedule, that of the session, or why there is none.
 */
export async function startRuns(
  tx: Queryable,
  context: Pick<ServiceContext, 'secrets'>,
  schedules: readonly HeldSchedule[],
): Promise<Map<string, string | RepriseError>> {
  const outcomes = new Map<string, string | RepriseError>()
  if (schedules.length === 0) return outcomes
  const planned = await planRunSessions(tx, context, schedules)
  const byOwner = new Map<string, { schedule: HeldSchedule; session: NewSession }[]>()
  for (const schedule of schedules) {
    const session = planned.get(schedule.id)!
    if (session instanceof RepriseError) outcomes.set(schedule.id, session)
    else byOwner.set(schedule.tokenId, [...(byOwner.get(schedule.tokenId) ?? []), { schedule, session }])
  }
  for (const [, group] of byOwner) {
    const sessions = group.map(({ session }) => session)
    const actor = actorOfSchedule(group[0]!.schedule)
    const { refused } = await addSessions(tx, sessions, { actor, transact: (work) => work(tx) })
    for (const { schedule, session } of group) outcomes.set(schedule.id, refused.get(session.id) ?? session.id)
  }
  return outcomes
}

/** Runs are made by the server, in the name of the schedule's owner. */
export function actorOfSchedule({ owner: name, tokenId, userId }: HeldSchedule): Actor {
  return { name, tokenId, userId, requestId: null, address: null }
}

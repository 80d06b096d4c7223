import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import type { Actor } from '../../store/sql/access/audit.sql.ts'
import type { HeldSchedule } from '../../store/sql/schedule/claim-schedules.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { mayChange } from '../access/authorize.ts'
import { inputError } from '../input/parse-input.ts'
import { parseCreateSession, type ParsedCreateSession } from '../session/create-session-input.ts'
import { planFirstAttempt, readPlanScope } from '../session/plan-attempt.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { addSessions } from '../session/create-sessions.ts'
import { lockTails } from '../../store/sql/retry/change-retry.sql.ts'
import { readOpenAttempts } from '../../store/sql/schedule/schedule-runs.sql.ts'
import { endAttempts } from '../retry/decide-session.ts'
import { retryCancelledBy } from '../../domain/retry/explain.ts'

/**
 * Creates a session for each of these schedules, with the rights of its owner and within the owner's quotas. Returns,
 * by schedule id, the session's id or why there is none.
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

/** The actor of runs: the server creates them in the name of the schedule's owner. */
export function actorOfSchedule({ owner: name, tokenId, userId }: HeldSchedule): Actor {
  return { name, tokenId, userId, requestId: null, address: null }
}

/** Ends the running chains of these schedules, so that a later run can start. Returns how many. */
export async function cancelOthers(
  tx: Queryable,
  { log }: Pick<ServiceContext, 'log'>,
  schedules: readonly HeldSchedule[],
): Promise<number> {
  if (schedules.length === 0) return 0
  const ids = schedules.map(({ id }) => id)
  const open = await readOpenAttempts(tx, ids)
  const tails = await lockTails(
    tx,
    open.map(({ sessionId }) => sessionId),
    null,
  )
  let cancelled = 0
  for (const schedule of schedules) {
    const sessions = open.flatMap(({ scheduleId, sessionId }) =>
      scheduleId === schedule.id ? (tails.get(sessionId) ?? []) : [],
    )
    const reason = `a later run of schedule ${schedule.name} takes its place`
    const retryNote = retryCancelledBy(schedule.owner, reason)
    const options = { actor: actorOfSchedule(schedule), force: false, reason, retryNote, log }
    cancelled += (await endAttempts(tx, sessions, options)).ended.size
  }
  return cancelled
}

/**
 * The viewer whose rights the runs of a schedule have: that of the token that created the schedule or changed it last.
 */
function ownerOf({ tokenId, userId, owner, ownerRole, projectId }: HeldSchedule): Viewer | RepriseError {
  const advice = 'The person who resumes or updates the schedule becomes its owner.'
  if (ownerRole === null) {
    const message = `The token "${owner}", whose rights its runs have, is no longer valid in its project. ${advice}`
    return new RepriseError('FORBIDDEN', message)
  }
  if (!mayChange({ role: ownerRole })) {
    const message = `The token "${owner}", whose rights its runs have, now has the role ${ownerRole}, which may not change anything. ${advice}`
    return new RepriseError('FORBIDDEN', message)
  }
  return { tokenId, userId, name: owner, role: ownerRole, projectId }
}

/** Plans, by schedule id, the session that its run creates, or why there can be none. */
async function planRunSessions(
  tx: Queryable,
  { secrets }: Pick<ServiceContext, 'secrets'>,
  schedules: readonly HeldSchedule[],
): Promise<Map<string, NewSession | RepriseError>> {
  const parsed = schedules.map((schedule) => ({ schedule, value: parsedTemplate(schedule) }))
  const values = parsed.flatMap(({ value }) => (value instanceof RepriseError ? [] : [value]))
  const scope = await readPlanScope({ db: tx, viewer: EVERYTHING }, values)
  return new Map<string, NewSession | RepriseError>(
    parsed.map(({ schedule, value }) => {
      const owner = ownerOf(schedule)
      if (owner instanceof RepriseError) return [schedule.id, owner]
      if (value instanceof RepriseError) return [schedule.id, value]
      const session = planFirstAttempt(value, scope, { viewer: owner, secrets })
      if (session instanceof RepriseError) return [schedule.id, session]
      return [schedule.id, { ...session, secretEnviron: schedule.secretEnviron }]
    }),
  )
}

/**
 * A viewer of all projects: the only project that is looked up is the schedule's own, and the owner's right to it has
 * been checked.
 */
const EVERYTHING = { projectId: null }

/**
 * Parses the template again: an input that was valid when the schedule was created may no longer be so after an
 * upgrade.
 */
function parsedTemplate({ template, projectName }: HeldSchedule): ParsedCreateSession | RepriseError {
  const parsed = parseCreateSession({ ...template, project: projectName })
  return 'value' in parsed ? parsed.value : inputError(parsed.issues)
}

import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import type { HeldSchedule } from '../../store/sql/schedule/claim-schedules.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { mayChange } from '../access/authorize.ts'
import { inputError } from '../input/parse-input.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { parseCreateSession, type ParsedCreateSession } from '../session/create-session-input.ts'
import { planFirstAttempt, readPlanScope } from '../session/plan-first-attempt.ts'

/** Whose rights the runs of a schedule have: those of the token that created it or changed it last. */
export function ownerOf({ tokenId, userId, owner, ownerRole, projectId }: HeldSchedule): Viewer | RepriseError {
  const advice = 'Whoever resumes or updates the schedule becomes its owner.'
  if (ownerRole === null) {
    const message = `The token "${owner}", with whose rights its runs are made, is not valid in its project any more. ${advice}`
    return new RepriseError('FORBIDDEN', message)
  }
  if (!mayChange({ role: ownerRole })) {
    const message = `The token "${owner}", with whose rights its runs are made, has the role ${ownerRole} now, which may not change anything. ${advice}`
    return new RepriseError('FORBIDDEN', message)
  }
  return { tokenId, userId, name: owner, role: ownerRole, projectId }
}

/** By the id of the schedule, the session that its run creates, or why there can be none. */
export async function planRunSessions(
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

/** Projects are found by name: that of the schedule itself, which its owner has been checked for. */
const EVERYTHING = { projectId: null }

/** What was valid when the schedule was made may not be any more, after an upgrade. */
function parsedTemplate({ template, projectName }: HeldSchedule): ParsedCreateSession | RepriseError {
  const parsed = parseCreateSession({ ...template, project: projectName })
  return 'value' in parsed ? parsed.value : inputError(parsed.issues)
}

import { v7 as uuidv7 } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import { SCHEDULES_PER_PROJECT_MAX } from '../../domain/limits.ts'
import type { Queryable } from '../../store/database.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { insertSchedule, lockScheduleNames } from '../../store/sql/schedule/change-schedule.sql.ts'
import { actorOf } from '../access/actor.ts'
import { assertMayChange } from '../access/authorize.ts'
import { argumentError, refuseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import type { CreateSessionInput } from '../session/create-session-input.ts'
import { ownerFrom } from './change-schedule.ts'
import { nextRunAfter } from './due-runs.ts'
import { parseScheduleSettings, parseTemplate, type ScheduleSettingsInput } from './schedule-input.ts'

export interface CreateScheduleInput extends ScheduleSettingsInput {
  session: CreateSessionInput
  paused?: boolean | null
}

/**
 * From now on its runs are made, each by what `createSession` would make of `session`; the session's project is the
 * schedule's.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND, NAME_TAKEN,
 * QUOTA_EXCEEDED
 */
export async function createSchedule(
  context: ServiceContext,
  { session, paused, ...given }: CreateScheduleInput,
): Promise<{ scheduleId: string }> {
  const { db, viewer, wake, log } = context
  assertMayChange(viewer)
  const parsed = parseScheduleSettings(given)
  const issues = 'issues' in parsed ? [...parsed.issues] : []
  if (paused != null && typeof paused !== 'boolean') issues.push({ path: 'paused', message: 'must be true or false' })
  const { projectId, ...template } = await parseTemplate(context, session, issues)
  if (!('settings' in parsed)) return refuseInput(issues)
  const { settings } = parsed
  const id = uuidv7()
  await db.transaction(async (tx) => {
    const { count, now } = await takeName(tx, projectId, settings.name)
    if (count >= SCHEDULES_PER_PROJECT_MAX) {
      const message = `there are ${SCHEDULES_PER_PROJECT_MAX} schedules already, and no more may be`
      throw new RepriseError('QUOTA_EXCEEDED', message)
    }
    const next = nextRunAfter(now, { ...settings, id, anchorAt: now })
    if (next === null) throw argumentError('cron', 'never comes')
    const pausedBy = paused === true ? viewer.name : null
    await insertSchedule(tx, {
      ...settings,
      ...template,
      ...ownerFrom(viewer),
      id,
      projectId,
      anchorAt: now,
      next,
      pausedBy,
    })
    const details = { scheduleId: id, ...settings }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'schedule.create', projectId, details })
  })
  wake.wake('run-schedules')
  log.debug({ scheduleId: id, name: settings.name }, 'created a schedule')
  return { scheduleId: id }
}

/** @throws RepriseError NAME_TAKEN */
export async function takeName(tx: Queryable, projectId: string, name: string): Promise<{ count: number; now: Date }> {
  const { taken, ...rest } = await lockScheduleNames(tx, projectId, name)
  if (taken) throw new RepriseError('NAME_TAKEN', `there is a schedule ${name} in its project already`)
  return rest
}

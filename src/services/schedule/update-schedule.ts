import type { ValidationIssue } from '../../domain/errors.ts'
import { updateScheduleRow, type LockedSchedule } from '../../store/sql/schedule/change-schedule.sql.ts'
import type { ScheduleSettings } from '../../store/sql/schedule/schedule-columns.sql.ts'
import { assertMayChange } from '../access/authorize.ts'
import { argumentError, refuseInput } from '../input/parse-input.ts'
import { withoutNulls } from '../input/without-nulls.ts'
import type { ServiceContext } from '../service-context.ts'
import type { CreateSessionInput } from '../session/create-session-input.ts'
import { changeSchedule, ownerFrom } from './change-schedule.ts'
import { takeName } from './create-schedule.ts'
import { nextRunAfter } from './due-runs.ts'
import { parseScheduleSettings, parseTemplate, type ScheduleSettingsInput } from './schedule-input.ts'

/** Missing and null fields stay as they are. `cron` replaces `every`, and the other way round. */
export interface UpdateScheduleInput extends Partial<{
  [Field in keyof ScheduleSettingsInput]: ScheduleSettingsInput[Field] | null
}> {
  scheduleId: string
  /** Replaces the whole of it, secrets included. */
  session?: CreateSessionInput | null
}

type Change = Omit<UpdateScheduleInput, 'scheduleId' | 'session'>

/**
 * Runs that are due or wait already stay so, and start as the schedule is then. If its times change, the next is the
 * first of them from now on. Whoever updates it becomes its owner.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, SCHEDULE_NOT_FOUND, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND,
 * NAME_TAKEN
 */
export async function updateSchedule(
  context: ServiceContext,
  { scheduleId, session, ...change }: UpdateScheduleInput,
): Promise<{ scheduleId: string }> {
  assertMayChange(context.viewer)
  const issues = issuesOf(change)
  if (session == null && issues.length > 0) refuseInput(issues)
  const template = session == null ? null : await parseTemplate(context, session, issues)
  await changeSchedule(context, scheduleId, 'schedule.update', async (tx, before) => {
    if (template && template.projectId !== before.projectId) {
      const message = `must be ${before.projectName}: a schedule stays in its project`
      refuseInput([{ path: 'session.project', message }])
    }
    const parsed = parseScheduleSettings(merged(before, change))
    if ('issues' in parsed) return refuseInput(parsed.issues)
    const { settings } = parsed
    if (settings.name !== before.name) await takeName(tx, before.projectId, settings.name)
    const timing = retimed(before, settings)
    if (timing.next === null) throw argumentError('cron', 'never comes')
    await updateScheduleRow(tx, scheduleId, {
      ...settings,
      ...ownerFrom(context.viewer),
      ...timing,
      template: template?.template ?? before.template,
      secretEnviron: template?.secretEnviron ?? before.secretEnviron,
    })
    return { before: settingsOf(before), after: settings, session: template !== null }
  })
  context.wake.wake('run-schedules')
  return { scheduleId }
}

/** What is wrong with the fields that are given, whatever the others are: told with the faults of `session`. */
function issuesOf(change: Change): readonly ValidationIssue[] {
  const timed = change.cron != null || change.every != null
  const parsed = parseScheduleSettings({ ...ANY, ...(timed && { cron: null }), ...withoutNulls(change) })
  return 'issues' in parsed ? parsed.issues : []
}

const ANY = { name: 'any', cron: '@daily' }

function merged(before: LockedSchedule, change: Change) {
  const stated = settingsOf(before)
  const timing = change.cron == null && change.every == null ? stated : { cron: change.cron, every: change.every }
  // What is not known here is refused with the rest.
  return {
    ...stated,
    ...withoutNulls(change),
    cron: timing.cron,
    every: timing.every,
    name: change.name ?? stated.name,
  }
}

/** When it runs next: as before if its times stay, else by the new ones from now on. */
function retimed(before: LockedSchedule, after: ScheduleSettings) {
  const { id, now } = before
  const sameTimes = before.cron === after.cron && before.every === after.every && before.timeZone === after.timeZone
  const anchorAt = before.every === after.every ? before.anchorAt : now
  const from = sameTimes && before.plannedAt !== null ? new Date(before.plannedAt.getTime() - 1) : now
  return { anchorAt, next: nextRunAfter(from, { ...after, id, anchorAt }) }
}

function settingsOf({ name, cron, every, timeZone, overlap, catchUp, jitter }: ScheduleSettings): ScheduleSettings {
  return { name, cron, every, timeZone, overlap, catchUp, jitter }
}

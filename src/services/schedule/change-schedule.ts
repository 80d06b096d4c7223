import { createHash } from 'node:crypto'
import { validate } from 'uuid'
import { newId } from '../../store/new-id.ts'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import { CREATION_ID_LENGTH_MAX, REASON_LENGTH_MAX, SCHEDULES_PER_PROJECT_MAX } from '../../domain/limits.ts'
import { type SealedVariable, secretNames } from '../../domain/session/kernel-environment.ts'
import type { Queryable } from '../../store/database.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import {
  deleteScheduleRow,
  insertSchedule,
  type LockedSchedule,
  lockSchedule,
  type KnownSchedule,
  lockScheduleNames,
  pauseScheduleRow,
  readByCreationId,
  readScheduleNames,
  resumeScheduleRow,
  type ScheduleCreation,
  type ScheduleOwner,
  type ScheduleSettings,
  updateScheduleRow,
} from '../../store/sql/schedule/schedules.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { text } from '../input/input-fields.ts'
import {
  argumentError,
  canonicalJson,
  issuesOf as issuesOfSchema,
  issuesUnder,
  parseInput,
  refuseInput,
  withoutNulls,
} from '../input/parse-input.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import type { CreateSessionInput } from '../session/create-session-input.ts'
import { nextRunAfter } from './make-runs.ts'
import { parseScheduleSettings, parseTemplate, type ScheduleSettingsInput } from './schedule-input.ts'
import { z } from 'zod'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'

export interface CreateScheduleInput extends ScheduleSettingsInput {
  session: CreateSessionInput
  paused?: boolean | null
  /** Idempotency key, unique in the project. */
  creationId?: string | null
}

export interface CreatedSchedule {
  scheduleId: string
  /** False if the creation id was known: the result is the existing schedule, created with the same input. */
  created: boolean
}

/** The creation id of the input of `createSchedule`. */
export const scheduleCreationId = text(CREATION_ID_LENGTH_MAX)

/**
 * Creates a schedule. Each of its runs creates the session that `createSession` would create from `session`; the
 * session's project is the schedule's. A repeated creation id returns the schedule as it is now.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND, NAME_TAKEN,
 * CREATION_ID_REUSED, QUOTA_EXCEEDED
 */
export async function createSchedule(
  context: ServiceContext,
  { session, paused, creationId = null, ...given }: CreateScheduleInput,
): Promise<CreatedSchedule> {
  const { db, viewer, wake, log } = context
  assertMayChange(viewer)
  const parsed = parseScheduleSettings(given)
  const issues = 'issues' in parsed ? [...parsed.issues] : []
  if (paused != null && typeof paused !== 'boolean') issues.push({ path: 'paused', message: 'must be true or false' })
  const key = scheduleCreationId.nullable().safeParse(creationId)
  if (key.error) issues.push(...issuesUnder('creationId', issuesOfSchema(key.error)))
  const { projectId, sessionDigest, ...template } = await parseTemplate(context, session, issues)
  if (!('settings' in parsed)) return refuseInput(issues)
  const { settings } = parsed
  const id = newId()
  const creation = creationId === null ? null : { id: creationId, digest: digestOf(settings, paused, sessionDigest) }
  const known = await db.transaction(async (tx) => {
    await lockScheduleNames(tx, projectId)
    const earlier = creation && (await readByCreationId(tx, projectId, creation.id))
    if (earlier) return sameSchedule(earlier, creation)
    const { count, now } = await takeName(tx, projectId, settings.name)
    if (count >= SCHEDULES_PER_PROJECT_MAX) {
      const message = `the project already has ${SCHEDULES_PER_PROJECT_MAX} schedules, and that is the limit`
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
      creation,
    })
    const details = { scheduleId: id, ...settings }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'schedule.create', projectId, details })
    return null
  })
  if (known) return known
  wake.wake('run-schedules')
  log.debug({ scheduleId: id, name: settings.name }, 'created a schedule')
  return { scheduleId: id, created: true }
}

/** @throws RepriseError CREATION_ID_REUSED */
function sameSchedule(known: KnownSchedule, { id, digest }: ScheduleCreation): CreatedSchedule {
  if (known.creationDigest === digest) return { scheduleId: known.id, created: false }
  const message = `the creation id ${id} belongs to schedule ${known.id}, which was created with another input`
  throw new RepriseError('CREATION_ID_REUSED', message, [], { type: 'Schedule', id: known.id })
}

/** A digest of the input. The schedule may be changed later, so its row cannot be compared. */
function digestOf(settings: ScheduleSettings, paused: boolean | null | undefined, sessionDigest: string): string {
  const asked = canonicalJson({ ...settings, paused: paused === true, session: sessionDigest })
  return createHash('sha256').update(asked).digest('base64url')
}

/** Missing and null fields stay as they are. `cron` replaces `every`, and the other way round. */
export interface UpdateScheduleInput extends Partial<{
  [Field in keyof ScheduleSettingsInput]: ScheduleSettingsInput[Field] | null
}> {
  scheduleId: string
  /** Replaces the whole session; its secrets stay if `secretEnviron` is missing. Its project is the schedule's. */
  session?: CreateSessionInput | null
}

type Change = Omit<UpdateScheduleInput, 'scheduleId' | 'session'>

/**
 * Changes a schedule. Runs that are due or queued stay so, and start under the new settings. If its times change, its
 * next run is the first of the new times from now on. The caller becomes its owner.
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
  const template = session == null ? null : await newTemplate(context, scheduleId, session, issues)
  await changeSchedule(context, scheduleId, 'schedule.update', async (tx, before) => {
    if (template && template.projectId !== before.projectId) {
      const message = `must be ${before.projectName}: a schedule stays in its project`
      refuseInput([{ path: 'session.project', message }])
    }
    const secretEnviron = template?.secretEnviron ?? before.secretEnviron
    if (template) refuseSecretNames(session?.environ ?? [], secretEnviron)
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
      secretEnviron,
    })
    return { before: settingsOf(before), after: settings, session: template !== null }
  })
  context.wake.wake('run-schedules')
  return { scheduleId }
}

/**
 * Parses the session that replaces another. Its project is that of the schedule if it names none; its secrets are null
 * if they stay.
 */
async function newTemplate(
  context: ServiceContext,
  scheduleId: string,
  session: CreateSessionInput,
  issues: readonly ValidationIssue[],
) {
  // Over REST it may be anything; what is no object is refused below.
  const namesNone = typeof session === 'object' && !Array.isArray(session) && session.project == null
  const project = namesNone && (await findSchedule(context.db, context, scheduleId)).projectName
  const parsed = await parseTemplate(context, project === false ? session : { ...session, project }, issues)
  return { ...parsed, secretEnviron: session.secretEnviron == null ? null : parsed.secretEnviron }
}

/** A secret that stays must not be a plain variable at the same time. */
function refuseSecretNames(environ: readonly { name: unknown }[], secrets: readonly SealedVariable[]): void {
  const names = new Set<unknown>(secretNames(secrets))
  const issues = environ.flatMap(({ name }, index) =>
    names.has(name)
      ? [
          {
            path: `session.environ.${index}.name`,
            message: 'is also a secret variable, which stays: give secretEnviron',
          },
        ]
      : [],
  )
  if (issues.length > 0) refuseInput(issues)
}

const ANY = { name: 'any', cron: '@daily' }

const pauseSchema = z.strictObject({
  reason: z.string().max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
})

interface ScheduleTarget {
  scheduleId: string
}

/**
 * Changes a schedule that the viewer may change, with an entry in the audit log, in one transaction. A change that
 * returns null has changed nothing.
 * @throws RepriseError FORBIDDEN, SCHEDULE_NOT_FOUND
 */
export async function changeSchedule<T extends object | null>(
  { db, viewer }: ServiceContext,
  scheduleId: string,
  action: string,
  change: (tx: Queryable, schedule: LockedSchedule) => Promise<T>,
): Promise<T> {
  assertMayChange(viewer)
  return db.transaction(async (tx) => {
    const schedule = await findSchedule(tx, { viewer }, scheduleId)
    const details = await change(tx, schedule)
    if (details === null) return details
    const { projectId, name } = schedule
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId, details: { scheduleId, name, ...details } })
    return details
  })
}

/** @throws RepriseError SCHEDULE_NOT_FOUND */
async function findSchedule(
  db: Queryable,
  { viewer }: Pick<ServiceContext, 'viewer'>,
  scheduleId: string,
): Promise<LockedSchedule> {
  const schedule = validate(scheduleId) ? await lockSchedule(db, scheduleId, viewer.projectId) : undefined
  if (!schedule) throw new RepriseError('SCHEDULE_NOT_FOUND', `no schedule ${scheduleId.slice(0, 100)}`)
  return schedule
}

/**
 * The owner of a schedule. A browser's own token ends with its session, so the token with which it was logged in
 * becomes the owner.
 */
export function ownerFrom({ tokenId, sessionOf, userId, name }: Viewer): ScheduleOwner {
  return { tokenId: sessionOf ?? tokenId, userId, owner: name }
}

/**
 * Pauses a schedule: no run is started until it is resumed. Running chains continue, and queued runs stay queued.
 * Pausing it again changes only the reason.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, SCHEDULE_NOT_FOUND
 */
export async function pauseSchedule(
  context: ServiceContext,
  { scheduleId, ...given }: ScheduleTarget & { reason?: string | null | undefined },
): Promise<ScheduleTarget> {
  assertMayChange(context.viewer)
  const { reason = null } = parseInput(pauseSchema, given)
  await changeSchedule(context, scheduleId, 'schedule.pause', async (tx) => {
    await pauseScheduleRow(tx, scheduleId, context.viewer.name, reason)
    return { reason }
  })
  return { scheduleId }
}

/**
 * Resumes a schedule with its next planned time; runs planned during the pause are not started. The caller becomes its
 * owner.
 * @throws RepriseError FORBIDDEN, SCHEDULE_NOT_FOUND
 */
export async function resumeSchedule(context: ServiceContext, { scheduleId }: ScheduleTarget): Promise<ScheduleTarget> {
  await changeSchedule(context, scheduleId, 'schedule.resume', async (tx, schedule) => {
    const { paused, now, plannedAt } = schedule
    // A schedule that is not paused keeps its due runs.
    const from = paused || plannedAt === null ? now : new Date(Math.min(now.getTime(), plannedAt.getTime() - 1))
    await resumeScheduleRow(tx, scheduleId, ownerFrom(context.viewer), nextRunAfter(from, schedule))
    return { before: { owner: schedule.owner } }
  })
  context.wake.wake('run-schedules')
  return { scheduleId }
}

/**
 * Deletes a schedule with the record of its runs; queued runs are never started. Its chains stay, and continue.
 * @throws RepriseError FORBIDDEN, SCHEDULE_NOT_FOUND
 */
export async function deleteSchedule(context: ServiceContext, { scheduleId }: ScheduleTarget): Promise<ScheduleTarget> {
  await changeSchedule(context, scheduleId, 'schedule.delete', async (tx, { cron, every, timeZone, queued }) => {
    await deleteScheduleRow(tx, scheduleId)
    return { cron, every, timeZone, queued }
  })
  return { scheduleId }
}

/** @throws RepriseError NAME_TAKEN */
async function takeName(tx: Queryable, projectId: string, name: string): Promise<{ count: number; now: Date }> {
  await lockScheduleNames(tx, projectId)
  const { takenBy, ...rest } = await readScheduleNames(tx, projectId, name)
  if (takenBy !== null) {
    const message = `there is a schedule ${name} in its project already`
    throw new RepriseError('NAME_TAKEN', message, [], { type: 'Schedule', id: takenBy })
  }
  return rest
}

/**
 * Finds faults of the given fields, independently of the other fields; they are reported together with those of
 * `session`.
 */
function issuesOf(change: Change): readonly ValidationIssue[] {
  const timed = change.cron != null || change.every != null
  const parsed = parseScheduleSettings({ ...ANY, ...(timed && { cron: null }), ...withoutNulls(change) })
  return 'issues' in parsed ? parsed.issues : []
}

function merged(before: LockedSchedule, change: Change) {
  const stated = settingsOf(before)
  const timing = change.cron == null && change.every == null ? stated : { cron: change.cron, every: change.every }
  // Unknown fields are refused together with the other faults.
  return {
    ...stated,
    ...withoutNulls(change),
    cron: timing.cron,
    every: timing.every,
    name: change.name ?? stated.name,
  }
}

/** Computes the next run: unchanged if the times stay, else by the new times from now on. */
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

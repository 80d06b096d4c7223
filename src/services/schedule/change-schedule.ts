import { validate } from 'uuid'
import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { REASON_LENGTH_MAX } from '../../domain/limits.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import type { Queryable } from '../../store/database.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import {
  deleteScheduleRow,
  lockSchedule,
  pauseScheduleRow,
  resumeScheduleRow,
  type LockedSchedule,
} from '../../store/sql/schedule/change-schedule.sql.ts'
import type { ScheduleOwner } from '../../store/sql/schedule/schedule-columns.sql.ts'
import { actorOf } from '../access/actor.ts'
import { assertMayChange } from '../access/authorize.ts'
import { parseInput } from '../input/parse-input.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { nextRunAfter } from './due-runs.ts'

const pauseSchema = z.strictObject({
  reason: z.string().max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
})

interface ScheduleTarget {
  scheduleId: string
}

/**
 * Changes a schedule that the viewer may change, with an entry in the audit log, in one transaction.
 * @throws RepriseError FORBIDDEN, SCHEDULE_NOT_FOUND
 */
export async function changeSchedule<T extends object>(
  { db, viewer }: ServiceContext,
  scheduleId: string,
  action: string,
  change: (tx: Queryable, schedule: LockedSchedule) => Promise<T>,
): Promise<T> {
  assertMayChange(viewer)
  return db.transaction(async (tx) => {
    const schedule = validate(scheduleId) ? await lockSchedule(tx, scheduleId, viewer.projectId) : undefined
    if (!schedule) throw new RepriseError('SCHEDULE_NOT_FOUND', `no schedule ${scheduleId.slice(0, 100)}`)
    const details = await change(tx, schedule)
    const { projectId, name } = schedule
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId, details: { scheduleId, name, ...details } })
    return details
  })
}

/** A browser's own token ends with its session: the one with which it was logged in goes on. */
export function ownerFrom({ tokenId, sessionOf, userId, name }: Viewer): ScheduleOwner {
  return { tokenId: sessionOf ?? tokenId, userId, owner: name }
}

/**
 * No run is made until it is resumed; what goes on goes on, and what waits for it waits. Pausing it again changes the
 * reason only.
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
 * It goes on with its next planned time; those that passed while it was paused are not made. Whoever resumes it becomes
 * its owner.
 * @throws RepriseError FORBIDDEN, SCHEDULE_NOT_FOUND
 */
export async function resumeSchedule(context: ServiceContext, { scheduleId }: ScheduleTarget): Promise<ScheduleTarget> {
  await changeSchedule(context, scheduleId, 'schedule.resume', async (tx, schedule) => {
    const { paused, now, plannedAt } = schedule
    // One that is not paused keeps what is due.
    const from = paused || plannedAt === null ? now : new Date(Math.min(now.getTime(), plannedAt.getTime() - 1))
    await resumeScheduleRow(tx, scheduleId, ownerFrom(context.viewer), nextRunAfter(from, schedule))
    return { before: { owner: schedule.owner } }
  })
  context.wake.wake('run-schedules')
  return { scheduleId }
}

/**
 * Deletes it with the record of its runs; those that wait are never made. The chains that it made stay, and go on.
 * @throws RepriseError FORBIDDEN, SCHEDULE_NOT_FOUND
 */
export async function deleteSchedule(context: ServiceContext, { scheduleId }: ScheduleTarget): Promise<ScheduleTarget> {
  await changeSchedule(context, scheduleId, 'schedule.delete', async (tx, { cron, every, timeZone, queued }) => {
    await deleteScheduleRow(tx, scheduleId)
    return { cron, every, timeZone, queued }
  })
  return { scheduleId }
}

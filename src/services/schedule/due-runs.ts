import { RepriseError } from '../../domain/errors.ts'
import { SCHEDULE_LATE_AFTER_SECONDS } from '../../domain/limits.ts'
import { jitterOf } from '../../domain/schedule/jitter.ts'
import { planRuns } from '../../domain/schedule/plan-runs.ts'
import { createTimetable, type Timing } from '../../domain/schedule/timetable.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { HeldSchedule } from '../../store/sql/schedule/claim-schedules.sql.ts'
import type { NextRun } from '../../store/sql/schedule/schedule-columns.sql.ts'
import type { DueRuns } from './make-runs.ts'

/** A schedule whose times cannot be computed is asked again after so long: this Node may not know its time zone. */
const FAULT_PAUSE_MS = SCHEDULE_LATE_AFTER_SECONDS * 60 * 1000

/** What of this schedule is due, by the database's clock as of the transaction. */
export function dueRuns(schedule: HeldSchedule): DueRuns {
  const { id, plannedAt, now, catchUp, jitter } = schedule
  const nothing = { schedule, runs: [], missed: null, askedBy: null }
  if (plannedAt === null) return { ...nothing, next: null }
  try {
    const timetable = createTimetable(schedule)
    const delayOf = (time: Date) => jitterOf(id, time, jitter)
    return { schedule, askedBy: null, ...planRuns({ timetable, plannedAt, now, catchUp, delayOf }) }
  } catch (error) {
    const dueAt = new Date(now.getTime() + FAULT_PAUSE_MS)
    const message = `its times cannot be computed: ${messageOf(error)}`
    return { ...nothing, next: { plannedAt: dueAt, dueAt }, fault: new RepriseError('VALIDATION_FAILED', message) }
  }
}

/** The first planned time after this one; null if there is none. */
export function nextRunAfter(time: Date, schedule: Timing & { id: string; jitter: number }): NextRun | null {
  const plannedAt = createTimetable(schedule).after(time)
  if (plannedAt === null) return null
  const delayMs = Math.round(jitterOf(schedule.id, plannedAt, schedule.jitter) * 1000)
  return { plannedAt, dueAt: new Date(plannedAt.getTime() + delayMs) }
}

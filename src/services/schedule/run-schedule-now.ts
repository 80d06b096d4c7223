import { RepriseError } from '../../domain/errors.ts'
import type { ServiceContext } from '../service-context.ts'
import { changeSchedule, ownerFrom } from './change-schedule.ts'
import { type MadeRuns, makeRuns } from './make-runs.ts'
import type { ScheduleRunRow } from './read-schedules.ts'
import { wakeForRuns } from './make-runs.ts'

/**
 * Starts one more run now, with the rights of the caller, even if the schedule is paused. Overlaps are treated as for a
 * planned run: this run may be skipped or queued. The planned runs stay as they are. A refused run is not recorded; the
 * caller gets the error.
 * @throws RepriseError FORBIDDEN, SCHEDULE_NOT_FOUND, and what `createSession` throws
 */
export async function runScheduleNow(
  context: ServiceContext,
  { scheduleId }: { scheduleId: string },
): Promise<{ scheduleId: string; run: ScheduleRunRow }> {
  const { viewer } = context
  let result: { made: MadeRuns; run: ScheduleRunRow } | undefined
  await changeSchedule(context, scheduleId, 'schedule.run', async (tx, locked) => {
    const { plannedAt, dueAt, now } = locked
    const schedule = { ...locked, ...ownerFrom(viewer), ownerRole: viewer.role }
    const next = plannedAt && dueAt && { plannedAt, dueAt }
    // Another run may have been requested in the same millisecond.
    for (let at = now; ; at = new Date(at.getTime() + 1)) {
      const made = await makeRuns(tx, context, [{ schedule, runs: [at], missed: null, next, askedBy: viewer.name }])
      const run = made.runs.find(({ askedBy }) => askedBy !== null)
      if (run?.outcome === 'REFUSED') throw new RepriseError(run.code!, run.reason!)
      if (!run) continue
      result = { made, run: { ...run, decidedAt: now } }
      return { runId: run.id, outcome: run.outcome }
    }
  })
  const { made, run } = result!
  wakeForRuns(context, made)
  return { scheduleId, run }
}

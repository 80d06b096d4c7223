import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { CLIENT_KEY_LENGTH_MAX } from '../../domain/limits.ts'
import { readRunByKey } from '../../store/sql/schedule/schedule-runs.sql.ts'
import { text } from '../input/input-fields.ts'
import { parseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { changeSchedule, ownerFrom } from './change-schedule.ts'
import { type MadeRuns, makeRuns } from './make-runs.ts'
import type { ScheduleRunRow } from './read-schedules.ts'
import { wakeForRuns } from './make-runs.ts'

const schema = z.strictObject({ clientKey: text(CLIENT_KEY_LENGTH_MAX).nullish() })

interface RequestedRun {
  scheduleId: string
  run: ScheduleRunRow
  /** False if the client key was known: the result is the run that the first request made, as it is now. */
  created: boolean
}

/**
 * Starts one more run now, with the rights of the caller, even if the schedule is paused. Overlaps are treated as for a
 * planned run: this run may be skipped or queued. The planned runs stay as they are. A refused run is not recorded; the
 * caller gets the error. A repeated client key makes no second run, as long as the first one is on record.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, SCHEDULE_NOT_FOUND, and what `createSession` throws
 */
export async function runScheduleNow(
  context: ServiceContext,
  { scheduleId, ...given }: { scheduleId: string; clientKey?: string | null | undefined },
): Promise<RequestedRun> {
  const { viewer } = context
  const { clientKey = null } = parseInput(schema, given)
  let result: { made: MadeRuns | null; run: ScheduleRunRow } | undefined
  await changeSchedule(context, scheduleId, 'schedule.run', async (tx, locked) => {
    const known = clientKey === null ? undefined : await readRunByKey(tx, scheduleId, clientKey)
    if (known) {
      result = { made: null, run: known }
      return null
    }
    const { plannedAt, dueAt, now } = locked
    const schedule = { ...locked, ...ownerFrom(viewer), ownerRole: viewer.role }
    const next = plannedAt && dueAt && { plannedAt, dueAt }
    const asked = { schedule, missed: null, next, askedBy: viewer.name, clientKey }
    // Another run may have been requested in the same millisecond.
    for (let at = now; ; at = new Date(at.getTime() + 1)) {
      const made = await makeRuns(tx, context, [{ ...asked, runs: [at] }])
      const run = made.runs.find(({ askedBy }) => askedBy !== null)
      if (run?.outcome === 'REFUSED') throw new RepriseError(run.code!, run.reason!)
      if (!run) continue
      result = { made, run: { ...run, decidedAt: now } }
      return { runId: run.id, outcome: run.outcome }
    }
  })
  const { made, run } = result!
  if (made) wakeForRuns(context, made)
  return { scheduleId, run, created: made !== null }
}

import { createScheduleService } from '../../../src/scheduler/run-schedules.handler.ts'
import { createWakeHub } from '../../../src/events/wake-hub.ts'
import { NO_SYNC_POINTS, type SyncPoints } from '../../../src/observability/sync-points.ts'
import { createSchedule, type CreateScheduleInput } from '../../../src/services/schedule/change-schedule.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import type { Database } from '../../../src/store/database.ts'
import { readLastRuns } from '../../../src/store/sql/schedule/schedule-runs.sql.ts'
import { ADMIN, testServer } from './test-server.ts'

/** The parts of a server that schedules and sessions need, and a token whose rights schedules have. */
export async function scheduleServer(db: Database, sync: SyncPoints = NO_SYNC_POINTS) {
  const hub = createWakeHub()
  const server = testServer(db, NO_SYNC_POINTS, hub)
  await db.query(
    `INSERT INTO api_tokens (id, name, hash, prefix, role) VALUES ($1, $2, 'hash of ada', 'rp_ada', $3)
     ON CONFLICT DO NOTHING`,
    [ADMIN.tokenId, ADMIN.name, ADMIN.role],
  )
  const service = createScheduleService({ ...server.context, sync })
  return {
    ...server,
    service,
    /** Runs passes until nothing is due. */
    async runSchedules(): Promise<number> {
      for (let done = 0; ;) {
        const report = await service.runOnce()
        done += report.done
        if (!report.more) return done
      }
    },
    schedule: (input: Partial<CreateScheduleInput> = {}, viewer: Viewer = ADMIN) =>
      createScheduleOf({ ...server.context, viewer }, input),
  }
}

type Context = Parameters<typeof createSchedule>[0]

/** Daily, unless the test says otherwise: nothing is due by itself. */
async function createScheduleOf(context: Context, input: Partial<CreateScheduleInput>): Promise<string> {
  const name = `nightly-${Math.random().toString(36).slice(2, 10)}`
  const timing = input.every == null ? { cron: '0 3 * * *' } : {}
  const session = { name: 'report', command: ['true'] }
  return (await createSchedule(context, { name, ...timing, session, ...input })).scheduleId
}

/** Moves the next run so far into the past: to a whole second, as cron has it. */
export async function makeDue(db: Database, id: string, secondsAgo = 0): Promise<void> {
  await db.query(
    `UPDATE schedules SET planned_at = at, due_at = at
     FROM (SELECT date_trunc('second', reprise_now()) - make_interval(secs => $2) AS at) AS t WHERE id = $1`,
    [id, secondsAgo],
  )
}

/** Oldest first, in one word each, with counts. */
export async function outcomes(db: Database, id: string): Promise<string[]> {
  const runs = (await readLastRuns(db, [id], 1000)).toReversed()
  return runs.map(({ outcome, count }) => (count === 1 ? outcome : `${count} ${outcome}`))
}

/** The chains of a schedule, oldest first. */
export async function chainsOf(db: Database, id: string): Promise<{ id: string; state: string }[]> {
  const { rows } = await db.query<{ id: string; state: string }>(
    'SELECT chain_id AS id, state FROM chains WHERE schedule_id = $1 ORDER BY chain_id',
    [id],
  )
  return rows
}

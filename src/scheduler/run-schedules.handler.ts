import { SCHEDULE_BATCH_MAX, SCHEDULE_INTERVAL_MS, SCHEDULE_WAIT_CHECK_MS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { SyncPoints } from '../observability/sync-points.ts'
import type { Wake } from '../domain/wake.ts'
import type { SecretBox } from '../services/access/secrets.ts'
import { nextTurn } from '../services/next-turn.ts'
import { dueRuns, type DueRuns, type MadeRuns, makeRuns } from '../services/schedule/make-runs.ts'
import { wakeForRuns } from '../services/schedule/make-runs.ts'
import type { Database } from '../store/database.ts'
import { claimSchedules, type HeldSchedule, readDueSchedules } from '../store/sql/schedule/claim-schedules.sql.ts'
import type { WrittenRun } from '../store/sql/schedule/schedule-runs.sql.ts'
import { type BackgroundService, defineMeasuredService, type RunReport } from './background-service.ts'
import { logOutcomes } from './log-outcomes.ts'

export interface ScheduleContext {
  db: Database
  wake: Wake
  log: Logger
  metrics: Pick<Metrics, 'runs' | 'done'>
  secrets: SecretBox
  sync: SyncPoints
}

export function createScheduleService(context: ScheduleContext): BackgroundService {
  return defineMeasuredService(context, 'run-schedules', SCHEDULE_INTERVAL_MS, () => runSchedules(context))
}

/**
 * Creates the due runs of schedules, and starts queued runs whose wait is over. One transaction locks the schedules, so
 * that each run is created exactly once, by any of the servers and despite crashes.
 */
async function runSchedules(context: ScheduleContext): Promise<RunReport> {
  const { any, nextInMs } = await readDueSchedules(context.db, SCHEDULE_WAIT_CHECK_MS)
  if (!any) return { done: 0, againInMs: nextInMs }
  const { held, made } = await context.db.transaction(async (tx) => {
    const claimed = await claimSchedules(tx, SCHEDULE_BATCH_MAX)
    const turns = await planInTurns(claimed)
    const result = turns.length === 0 ? null : await makeRuns(tx, context, turns)
    // The crash: a server that ends here has created nothing.
    await context.sync.reached('run-schedules:before-commit')
    return { held: claimed, made: result }
  })
  // Another server has locked the due schedules.
  if (made === null) return { done: 0, againInMs: SCHEDULE_WAIT_CHECK_MS }
  wakeForRuns(context, made)
  tell(context.log, held, made)
  return { done: made.runs.length, more: true }
}

/** Yields to the event loop between schedules: after a long downtime, one may take milliseconds. */
async function planInTurns(claimed: readonly HeldSchedule[]): Promise<DueRuns[]> {
  const turns: DueRuns[] = []
  for (const schedule of claimed) {
    turns.push(dueRuns(schedule))
    await nextTurn()
  }
  return turns
}

function tell(log: Logger, held: readonly HeldSchedule[], { runs }: MadeRuns): void {
  const names = new Map(held.map(({ id, name }) => [id, name]))
  const lines = runs.map((run) => ({
    ids: { scheduleId: run.scheduleId, chainId: run.chainId, outcome: run.outcome },
    message: `schedule ${names.get(run.scheduleId)}: ${describeRun(run)}`,
  }))
  logOutcomes(log, lines, () => `${runs.length} runs of schedules decided on`)
}

function describeRun({ outcome, plannedAt, count, reason }: WrittenRun): string {
  const what = count === 1 ? `the run of ${plannedAt.toISOString()}` : `${count} runs from ${plannedAt.toISOString()}`
  return `${what}: ${outcome.toLowerCase()}${reason === null ? '' : `, ${reason}`}`
}

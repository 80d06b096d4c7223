import { FIGURES_BATCH_MAX, WEEKLY_SUMMARIES_BATCH_MAX } from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Database } from '../../store/database.ts'
import { rollUpFigures, takeDueFigures } from '../../store/sql/insight/roll-up.sql.ts'
import { summarizeWeek } from '../../store/sql/insight/weekly-summary.sql.ts'
import type { RunReport } from '../background-service.ts'

interface FiguresContext {
  db: Database
  metrics: Metrics
  sync: SyncPoints
}

/**
 * Sums up the figures of attempts that have changed. Decisions only note the attempts. It runs at its interval rather than
 * when woken: many attempts of an hour change the same sums, which are then written once.
 */
export async function rollUpDueFigures({ db, metrics, sync }: FiguresContext): Promise<RunReport> {
  const { taken, costs } = await db.transaction(async (tx) => {
    const due = await takeDueFigures(tx, FIGURES_BATCH_MAX)
    const rolled = await rollUpFigures(tx, due.sessionIds)
    // The crash: nothing is summed up, and the attempts are still due.
    if (due.taken > 0) await sync.reached('roll-up-figures:before-commit')
    return { taken: due.taken, costs: rolled }
  })
  // After the commit, so that a rollback counts nothing.
  for (const { cause, lost, ...slots } of costs) {
    for (const [slot, seconds] of Object.entries(slots)) {
      if (seconds === 0) continue
      if (lost) metrics.slotSeconds.lost.inc({ slot, cause: cause ?? 'UNKNOWN' }, seconds)
      else metrics.slotSeconds.saved.inc({ slot }, seconds)
    }
  }
  return { done: taken, more: taken === FIGURES_BATCH_MAX }
}

/** Writes the events with the summaries of the last week that have not been written: one of each project. */
export async function summarizeWeeks({
  db,
  wake,
  sync,
}: Pick<FiguresContext, 'db' | 'sync'> & { wake: Wake }): Promise<RunReport> {
  const done = await db.transaction(async (tx) => {
    const written = await summarizeWeek(tx, WEEKLY_SUMMARIES_BATCH_MAX)
    // The crash: no event, and no row that says that there is one.
    if (written > 0) await sync.reached('weekly-summaries:before-commit')
    return written
  })
  if (done > 0) wake.wake('events')
  return { done, more: done === WEEKLY_SUMMARIES_BATCH_MAX }
}

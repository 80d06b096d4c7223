import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import { groupsWithPending, requeueRested } from '../../store/sql/scheduling/pending-groups.sql.ts'
import type { RunReport } from '../background-service.ts'
import type { CoordinatorContext } from '../coordinator.ts'
import { runLifecycle } from '../lifecycle.ts'
import { newQueueProgress, type QueueProgress } from './queue-progress.ts'
import { scheduleSessions } from './schedule-sessions.handler.ts'

/** Returns sessions that have rested to their queue, then runs one pass over the queue of each resource group. */
export async function scheduleGroups(
  context: CoordinatorContext & { sync: SyncPoints },
  lines: Map<string, QueueProgress>,
): Promise<RunReport> {
  const { requeued, nextInMs } = await requeueRested(context.db, CLAIM_BATCH_SESSIONS_MAX)
  const reports = []
  for (const group of await groupsWithPending(context.db)) {
    const line = lines.get(group.name) ?? newQueueProgress()
    lines.set(group.name, line)
    const report = await runLifecycle(context, scheduleSessions(group, line, context))
    reports.push({ ...report, more: line.passAgain })
  }
  const pauses = [nextInMs, ...reports.map(({ againInMs }) => againInMs)].filter((pause) => typeof pause === 'number')
  return {
    done: reports.reduce((sum, { done }) => sum + done, 0),
    more: requeued === CLAIM_BATCH_SESSIONS_MAX || reports.some(({ more }) => more),
    againInMs: pauses.length === 0 ? null : Math.min(...pauses),
  }
}

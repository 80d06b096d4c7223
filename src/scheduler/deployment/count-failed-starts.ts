import { startBackoffMs } from '../../domain/deployment/start-backoff.ts'
import type { Queryable } from '../../store/database.ts'
import type { MovedRoute } from '../../store/sql/deployment/apply-deployment-moves.sql.ts'
import { recordFailures, lockFailureCounts } from '../../store/sql/deployment/route-failures.sql.ts'

/**
 * Routes that failed to start, or ended before they had served for long, delay the next routes of their deployment, by
 * more with each consecutive failure. Failures of routes that were begun together count as one.
 */
export async function countFailedStarts(tx: Queryable, moved: readonly MovedRoute[]): Promise<void> {
  const failed = moved.filter(hasFailed)
  if (failed.length === 0) return
  const byDeployment = Map.groupBy(failed, ({ deploymentId }) => deploymentId)
  const counts = await lockFailureCounts(tx, [...byDeployment.keys()])
  const counted = counts.flatMap(({ id, revision, failures, failedAt }) => {
    const fresh = byDeployment
      .get(id)!
      .find((route) => route.revision === revision && (failedAt === null || route.createdAt > failedAt))
    return fresh ? [{ id, delayMs: startBackoffMs(failures + 1, fresh.sessionId) }] : []
  })
  if (counted.length > 0) await recordFailures(tx, counted)
}

/** A failed start counts when it fails, and not again when the route terminates. */
function hasFailed({ from, to, lasted }: MovedRoute): boolean {
  if (to === 'FAILED_TO_START') return true
  return to === 'TERMINATING' && from !== 'FAILED_TO_START' && !lasted
}

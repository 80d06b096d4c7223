import type { Queryable } from '../../database.ts'

/** Locks: deployments in id order. Nobody who holds a deployment waits for a route. */
const LOCK_SQL = `
SELECT id, revision, failures, failed_at AS "failedAt" FROM deployments
WHERE id = ANY($1::uuid[]) AND status <> 'DESTROYED' ORDER BY id FOR NO KEY UPDATE`

export interface FailureCount {
  id: string
  revision: number
  failures: number
  failedAt: Date | null
}

export async function lockFailureCounts(tx: Queryable, deploymentIds: readonly string[]): Promise<FailureCount[]> {
  return (await tx.query<FailureCount>(LOCK_SQL, [deploymentIds])).rows
}

const COUNT_SQL = `
UPDATE deployments d SET failures = d.failures + 1, failed_at = reprise_now(),
  next_route_at = reprise_now() + make_interval(secs => c."delayMs" / 1000)
FROM json_to_recordset($1::json) AS c("id" uuid, "delayMs" float8) WHERE d.id = c."id"`

export async function recordFailures(tx: Queryable, counts: readonly { id: string; delayMs: number }[]): Promise<void> {
  await tx.query(COUNT_SQL, [JSON.stringify(counts)])
}

/**
 * Resets the count if a route started after the last failure has stayed healthy for long enough. Index:
 * deployments_active.
 */
const FORGET_SQL = `
WITH over AS (
  SELECT d.id FROM deployments d
  WHERE d.status <> 'DESTROYED' AND d.failures > 0 AND EXISTS (SELECT FROM routes r
    WHERE r.deployment_id = d.id AND r.status = 'HEALTHY' AND r.revision = d.revision AND r.created_at > d.failed_at
      AND r.first_healthy_at <= reprise_now() - make_interval(secs => $1 / 1000.0))
  FOR NO KEY UPDATE OF d SKIP LOCKED
)
UPDATE deployments d SET failures = 0, failed_at = NULL, next_route_at = NULL FROM over WHERE d.id = over.id`

export async function resetFailures(db: Queryable, lastingMs: number): Promise<void> {
  await db.query(FORGET_SQL, [lastingMs])
}

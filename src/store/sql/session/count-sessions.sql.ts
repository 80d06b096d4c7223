import type { OverCount } from '../../../domain/session/statistics.ts'
import type { SessionStatus } from '../../../domain/session/statuses.ts'
import type { Database } from '../../database.ts'

export interface CountedSpan {
  /** Null counts all projects that the viewer sees. */
  project: string | null
  visibleProjectId: string | null
  from: Date
  /** Exclusive. */
  to: Date
  bucketSeconds: number
}

const PROJECTS = `ARRAY(SELECT id FROM projects WHERE ($1::uuid IS NULL OR id = $1) AND ($2::text IS NULL OR name = $2))`

/** Index: sessions_over, which covers all columns read; a million rows a second once VACUUM has run. */
export const OVER_SQL = `
SELECT (floor(extract(epoch FROM terminated_at - $3::timestamptz) / $5::float8))::int AS bucket, status, result,
  origin = 'AUTO_RETRY' AS retry, failure_cause AS "failureCause", retry_cause AS "retryCause", count(*) AS count
FROM sessions
WHERE project_id = ANY(${PROJECTS}) AND status IN ('TERMINATED', 'ERROR', 'CANCELLED')
  AND terminated_at >= $3 AND terminated_at < $4::timestamptz
GROUP BY bucket, status, result, retry, failure_cause, retry_cause`

/** Index: sessions_active. */
export const ACTIVE_SQL = `
SELECT status, count(*) AS count FROM sessions
WHERE status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') AND project_id = ANY(${PROJECTS})
GROUP BY status`

/**
 * Sessions that ended within the span, and those that have not ended yet.
 * @throws if it takes longer than `timeoutMs`
 */
export async function countSessions(
  db: Database,
  { project, visibleProjectId, from, to, bucketSeconds }: CountedSpan,
  timeoutMs: number,
): Promise<{ over: OverCount[]; active: { status: SessionStatus; count: number }[] }> {
  const span = [visibleProjectId, project, from.toISOString(), to.toISOString(), bucketSeconds]
  const over = await db.queryWithin<OverCount>(timeoutMs, OVER_SQL, span)
  const active = await db.queryWithin<{ status: SessionStatus; count: number }>(timeoutMs, ACTIVE_SQL, [
    visibleProjectId,
    project,
  ])
  return { over: over.rows, active: active.rows }
}

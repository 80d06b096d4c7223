import type { OverCount } from '../../../domain/session/statistics.ts'
import type { SessionStatus } from '../../../domain/session/statuses.ts'
import type { Database } from '../../database.ts'

/** Of which sessions; all given conditions must match. */
export interface CountedSessions {
  /** The project's name; null counts all projects that the viewer sees. */
  project: string | null
  visibleProjectId: string | null
  name?: string | undefined
  label?: { key: string; value: string } | undefined
  resourceGroup?: string | undefined
  /** The name of the user whose they are. */
  user?: string | undefined
}

export interface CountedSpan extends CountedSessions {
  from: Date
  /** Exclusive. */
  to: Date
  bucketSeconds: number
}

/** Of `$1`, the id of the project that alone is visible, and `$2`, the name of the wanted one. */
export const PROJECTS = `ARRAY(SELECT id FROM projects WHERE ($1::uuid IS NULL OR id = $1) AND ($2::text IS NULL OR name = $2))`

/** Only the conditions that are given stand in the statement: without any, an index has all that is read. */
export function countedConditions({ name, label, resourceGroup, user }: CountedSessions, values: unknown[]): string {
  const parts: string[] = []
  const add = (value: string | undefined, condition: (parameter: string) => string) => {
    if (value !== undefined) parts.push(` AND ${condition(`$${values.push(value)}::text`)}`)
  }
  add(name, (text) => `s.name = ${text}`)
  add(label && JSON.stringify({ [label.key]: label.value }), (text) => `s.labels @> (${text})::jsonb`)
  add(resourceGroup, (text) => `s.resource_group = ${text}`)
  add(user, (text) => `s.user_id = (SELECT id FROM users WHERE users.name = ${text})`)
  return parts.join('')
}

/** Index: sessions_over, which covers all columns read unless there are conditions; a million rows a second once VACUUM has run. */
export function overStatement(span: CountedSpan): { text: string; values: unknown[] } {
  const { visibleProjectId, project, from, to, bucketSeconds } = span
  const values: unknown[] = [visibleProjectId, project, from.toISOString(), to.toISOString(), bucketSeconds]
  const text = `
SELECT (floor(extract(epoch FROM s.terminated_at - $3::timestamptz) / $5::float8))::int AS bucket, s.status, s.result,
  s.origin = 'AUTO_RETRY' AS retry, s.failure_cause AS "failureCause", s.retry_cause AS "retryCause", count(*) AS count
FROM sessions s
WHERE s.project_id = ANY(${PROJECTS}) AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
  AND s.terminated_at >= $3 AND s.terminated_at < $4::timestamptz${countedConditions(span, values)}
GROUP BY bucket, s.status, s.result, retry, s.failure_cause, s.retry_cause`
  return { text, values }
}

/** Index: sessions_active. */
export function activeStatement(which: CountedSessions): { text: string; values: unknown[] } {
  const values: unknown[] = [which.visibleProjectId, which.project]
  const text = `
SELECT s.status, count(*) AS count FROM sessions s
WHERE s.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') AND s.project_id = ANY(${PROJECTS})${countedConditions(which, values)}
GROUP BY s.status`
  return { text, values }
}

/** Index: retry_decisions_queue. */
export function pendingStatement(which: CountedSessions): { text: string; values: unknown[] } {
  const values: unknown[] = [which.visibleProjectId, which.project]
  const wanted = countedConditions(which, values)
  const text = `
SELECT count(*) FILTER (WHERE d.phase = 'HELD') AS held, count(*) FILTER (WHERE d.phase = 'SCHEDULED') AS waiting
FROM retry_decisions d${wanted === '' ? '' : ' JOIN sessions s ON s.id = d.session_id'}
WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.project_id = ANY(${PROJECTS})${wanted}`
  return { text, values }
}

export interface PendingRetries {
  held: number
  waiting: number
}

/**
 * Sessions that ended within the span, and what there is now: sessions that have not ended, and retries that wait.
 * @throws if it takes longer than `timeoutMs`
 */
export async function countSessions(
  db: Database,
  span: CountedSpan,
  timeoutMs: number,
): Promise<{ over: OverCount[]; active: { status: SessionStatus; count: number }[]; pending: PendingRetries }> {
  const statements = [overStatement(span), activeStatement(span), pendingStatement(span)] as const
  const over = await db.queryWithin<OverCount>(timeoutMs, statements[0].text, statements[0].values)
  const active = await db.queryWithin<{ status: SessionStatus; count: number }>(
    timeoutMs,
    statements[1].text,
    statements[1].values,
  )
  const pending = await db.queryWithin<PendingRetries>(timeoutMs, statements[2].text, statements[2].values)
  return { over: over.rows, active: active.rows, pending: pending.rows[0]! }
}

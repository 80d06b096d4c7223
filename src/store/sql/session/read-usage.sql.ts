import type { UsageSource } from '../../../domain/agent/kernel-usage.ts'
import type { SessionResult } from '../../../domain/session/statuses.ts'
import type { Database, Queryable } from '../../database.ts'
import { countedConditions, type CountedSpan, PROJECTS } from './count-sessions.sql.ts'

/** The kernels of one session, as far as they have ended; a figure is null if it is known of none. */
export interface UsageRow {
  sessionId: string
  peakMemoryBytes: number | null
  cpuSeconds: number | null
  wallSeconds: number | null
  source: UsageSource
}

/** Of `kernels k`. Each kernel may be on a machine of its own, so what counts of memory is the largest. */
const FIGURES = `max(k.peak_memory_bytes) AS "peakMemoryBytes", sum(k.cpu_seconds) AS "cpuSeconds",
  max(k.wall_seconds) AS "wallSeconds"`

/** Index: kernels(session_id, role, index). */
const USAGE_SQL = `
SELECT k.session_id AS "sessionId", ${FIGURES}, max(k.usage_source) AS source
FROM kernels k WHERE k.session_id = ANY($1::uuid[]) AND k.usage_source IS NOT NULL
GROUP BY k.session_id`

/** Sessions of which nothing is known are not among the rows. */
export async function readUsage(db: Queryable, sessionIds: readonly string[]): Promise<UsageRow[]> {
  return (await db.query<UsageRow>(USAGE_SQL, [sessionIds])).rows
}

/** What the sessions used that ended alike within a span. */
export interface OutcomeUsage {
  result: SessionResult
  /** Of how many sessions something is known. */
  sessions: number
  /** Of the kernel that held the most. */
  peakMemoryBytes: number | null
  cpuSeconds: number | null
  wallSeconds: number | null
}

/** Indexes: sessions_over, kernels(session_id, role, index). */
function outcomeStatement(span: CountedSpan): { text: string; values: unknown[] } {
  const { visibleProjectId, project, from, to } = span
  const values: unknown[] = [visibleProjectId, project, from.toISOString(), to.toISOString()]
  const text = `
SELECT result, count(*) AS sessions, max("peakMemoryBytes") AS "peakMemoryBytes", sum("cpuSeconds") AS "cpuSeconds",
  sum("wallSeconds") AS "wallSeconds"
FROM (SELECT s.result, ${FIGURES}
  FROM sessions s JOIN kernels k ON k.session_id = s.id AND k.usage_source IS NOT NULL
  WHERE s.project_id = ANY(${PROJECTS}) AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
    AND s.terminated_at >= $3 AND s.terminated_at < $4::timestamptz${countedConditions(span, values)}
  GROUP BY s.id) ended
GROUP BY result ORDER BY result`
  return { text, values }
}

/** @throws if it takes longer than `timeoutMs` */
export async function readOutcomeUsage(db: Database, span: CountedSpan, timeoutMs: number): Promise<OutcomeUsage[]> {
  const { text, values } = outcomeStatement(span)
  return (await db.queryWithin<OutcomeUsage>(timeoutMs, text, values)).rows
}

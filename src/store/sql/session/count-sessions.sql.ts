import type { OverCount } from '../../../domain/session/statistics.ts'
import type { SessionResult, SessionStatus, SessionType } from '../../../domain/session/lifecycle.ts'
import type { Database, Queryable } from '../../database.ts'
import type { FailureCause } from '../../../domain/session/failure.ts'
import type { UsageSource } from '../../../domain/agent/kernel-report.ts'

/** A filter of the sessions to count; all given conditions must match. */
export interface CountedSessions {
  /** The project's name; null counts all projects that the viewer sees. */
  project: string | null
  visibleProjectId: string | null
  name?: string | undefined
  label?: { key: string; value: string } | undefined
  resourceGroup?: string | undefined
  /** The name of the user who owns the sessions. */
  user?: string | undefined
  sessionTypes?: readonly SessionType[] | undefined
}

export interface CountedSpan extends CountedSessions {
  from: Date
  /** Exclusive. */
  to: Date
  bucketSeconds: number
}

/**
 * The ids of the projects to count, from `$1`, the only project that the viewer sees (null for all), and `$2`, the name
 * of the wanted one.
 */
export const PROJECTS = `ARRAY(SELECT id FROM projects WHERE ($1::uuid IS NULL OR id = $1) AND ($2::text IS NULL OR name = $2))`

/** Builds the given conditions only: without any, or with types alone, an index contains all columns that are read. */
export function countedConditions(counted: CountedSessions, values: unknown[]): string {
  const { name, label, resourceGroup, user, sessionTypes } = counted
  const parts: string[] = []
  const add = (value: string | undefined, condition: (parameter: string) => string) => {
    if (value !== undefined) parts.push(` AND ${condition(`$${values.push(value)}::text`)}`)
  }
  add(name, (text) => `s.name = ${text}`)
  add(label && JSON.stringify({ [label.key]: label.value }), (text) => `s.labels @> (${text})::jsonb`)
  add(resourceGroup, (text) => `s.resource_group = ${text}`)
  add(user, (text) => `s.user_id = (SELECT id FROM users WHERE users.name = ${text})`)
  if (sessionTypes) parts.push(` AND s.session_type = ANY($${values.push(sessionTypes)}::session_type[])`)
  return parts.join('')
}

/**
 * Counts sessions that have ended. Index: sessions_over, which contains all columns read unless there are conditions other than types;
 * a million rows a second once VACUUM has run.
 */
export function overStatement(span: CountedSpan): { text: string; values: unknown[] } {
  const { visibleProjectId, project, from, to, bucketSeconds } = span
  const values: unknown[] = [visibleProjectId, project, from.toISOString(), to.toISOString(), bucketSeconds]
  const text = `
SELECT (floor(extract(epoch FROM s.terminated_at - $3::timestamptz) / $5::float8))::int AS bucket, s.status, s.result,
  s.origin = 'AUTO_RETRY' AS retry, s.failure_cause AS "failureCause", s.retry_cause AS "retryCause",
  s.timed_out AS "timedOut", count(*) AS count
FROM sessions s
WHERE s.project_id = ANY(${PROJECTS}) AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
  AND s.terminated_at >= $3 AND s.terminated_at < $4::timestamptz${countedConditions(span, values)}
GROUP BY bucket, s.status, s.result, retry, s.failure_cause, s.retry_cause, s.timed_out`
  return { text, values }
}

/** Counts sessions that have not ended. Index: sessions_active. */
export function activeStatement(which: CountedSessions): { text: string; values: unknown[] } {
  const values: unknown[] = [which.visibleProjectId, which.project]
  const text = `
SELECT s.status, count(*) AS count FROM sessions s
WHERE s.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') AND s.project_id = ANY(${PROJECTS})${countedConditions(which, values)}
GROUP BY s.status`
  return { text, values }
}

/** Counts pending retries, which only BATCH sessions have. Index: retry_decisions_queue. */
export function pendingStatement(which: CountedSessions): { text: string; values: unknown[] } {
  const values: unknown[] = [which.visibleProjectId, which.project]
  const { sessionTypes = ['BATCH'], ...others } = which
  const wanted = countedConditions(others, values)
  const retried = sessionTypes.includes('BATCH')
  const text = `
SELECT count(*) FILTER (WHERE d.phase = 'HELD') AS held, count(*) FILTER (WHERE d.phase = 'SCHEDULED') AS waiting
FROM retry_decisions d${wanted === '' ? '' : ' JOIN sessions s ON s.id = d.session_id'}
WHERE ${retried ? '' : 'false AND '}d.phase IN ('SCHEDULED', 'HELD') AND d.project_id = ANY(${PROJECTS})${wanted}`
  return { text, values }
}

export interface PendingRetries {
  held: number
  waiting: number
}

/**
 * Counts the sessions that ended within the span, the present sessions that have not ended, and the pending retries.
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

/** The groupings of failures: the columns that distinguish the groups, and the joins that they need. */
const GROUPINGS = {
  CAUSE: { columns: { cause: 's.failure_cause', timedOut: 's.timed_out' }, joined: '' },
  EXIT_CODE: { columns: { exitCode: 's.exit_code' }, joined: '' },
  NAME: { columns: { name: 's.name' }, joined: '' },
  LABEL: {
    columns: { labelKey: 'l.key', labelValue: 'l.value' },
    joined: ' CROSS JOIN LATERAL jsonb_each_text(s.labels) AS l',
  },
  // A session with several kernels on one agent counts there once.
  AGENT: {
    columns: { agentId: 'a.id', agentName: 'a.name' },
    joined: ` JOIN agents a ON a.id IN (SELECT k.agent_id FROM kernels k WHERE k.session_id = s.id)`,
  },
} as const

export type FailureGrouping = keyof typeof GROUPINGS

interface CountedFailures extends CountedSessions {
  by: FailureGrouping
  from: Date
  /** Exclusive. */
  to: Date
  causes?: readonly FailureCause[] | undefined
  timedOut?: boolean | undefined
  limit: number
}

/** A group of failures. Only the fields of its grouping are set. */
export interface FailureCount {
  cause?: FailureCause | null
  timedOut?: boolean
  exitCode?: number
  name?: string
  labelKey?: string
  labelValue?: string
  agentId?: string
  agentName?: string
  failed: number
  chains: number
  /** Number of chains that have failed and are not retried any more. */
  lost: number
  latestAt: Date
}

/**
 * Counts failures within a span of time by group, the largest groups first. Index: sessions_over finds them; each is
 * looked up, with its chain.
 */
function failuresStatement(failures: CountedFailures): { text: string; values: unknown[] } {
  const { by, from, to, causes, timedOut, limit, visibleProjectId, project } = failures
  const { columns, joined } = GROUPINGS[by]
  const keys = Object.values<string>(columns)
  const values: unknown[] = [visibleProjectId, project, from.toISOString(), to.toISOString()]
  const ofCauses = causes ? ` AND s.failure_cause = ANY($${values.push(causes)}::failure_cause[])` : ''
  const ofTimeouts = timedOut === undefined ? '' : ` AND s.timed_out = $${values.push(timedOut)}::boolean`
  const wanted = countedConditions(failures, values)
  const text = `
SELECT ${Object.entries(columns)
    .map(([name, column]) => `${column} AS "${name}"`)
    .join(', ')},
  count(*) AS failed, count(DISTINCT s.chain_id) AS chains,
  count(DISTINCT s.chain_id) FILTER (WHERE c.state = 'FAILED') AS lost, max(s.terminated_at) AS "latestAt"
FROM sessions s JOIN chains c ON c.chain_id = s.chain_id${joined}
WHERE s.project_id = ANY(${PROJECTS}) AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND s.result = 'FAILURE'
  AND s.terminated_at >= $3::timestamptz AND s.terminated_at < $4::timestamptz${ofCauses}${ofTimeouts}${wanted}${by === 'EXIT_CODE' ? ' AND s.exit_code IS NOT NULL' : ''}
GROUP BY ${keys.join(', ')}
ORDER BY failed DESC, ${keys.join(', ')}
LIMIT $${values.push(limit)}::int`
  return { text, values }
}

/** @throws if it takes longer than `timeoutMs` */
export async function countFailures(
  db: Database,
  failures: CountedFailures,
  timeoutMs: number,
): Promise<FailureCount[]> {
  const { text, values } = failuresStatement(failures)
  return (await db.queryWithin<FailureCount>(timeoutMs, text, values)).rows
}

/** The usage of one session's ended kernels; a figure is null if it is unknown for all of them. */
interface UsageRow {
  sessionId: string
  peakMemoryBytes: number | null
  cpuSeconds: number | null
  wallSeconds: number | null
  source: UsageSource
}

/**
 * Aggregates over `kernels k`. Each kernel may be on a different machine, so the largest memory counts. Sums are
 * rounded, because floating point adds digits that mean nothing.
 */
const FIGURES = `max(k.peak_memory_bytes) AS "peakMemoryBytes",
  round(sum(k.cpu_seconds)::numeric, 6)::float8 AS "cpuSeconds", round(max(k.wall_seconds)::numeric, 3)::float8 AS "wallSeconds"`

/** Index: kernels(session_id, role, index). */
const USAGE_SQL = `
SELECT k.session_id AS "sessionId", ${FIGURES}, max(k.usage_source) AS source
FROM kernels k WHERE k.session_id = ANY($1::uuid[]) AND k.usage_source IS NOT NULL
GROUP BY k.session_id`

/** Reads the usage of sessions; a session without any figure has no row. */
export async function readUsage(db: Queryable, sessionIds: readonly string[]): Promise<UsageRow[]> {
  return (await db.query<UsageRow>(USAGE_SQL, [sessionIds])).rows
}

/** The usage of sessions that ended within a span with the same outcome. */
export interface OutcomeUsage {
  result: SessionResult
  /** Number of sessions with at least one figure. */
  sessions: number
  /** The peak of the kernel that used the most. */
  peakMemoryBytes: number | null
  cpuSeconds: number | null
  wallSeconds: number | null
}

/** Indexes: sessions_over, kernels(session_id, role, index). */
function outcomeStatement(span: CountedSpan): { text: string; values: unknown[] } {
  const { visibleProjectId, project, from, to } = span
  const values: unknown[] = [visibleProjectId, project, from.toISOString(), to.toISOString()]
  const text = `
SELECT result, count(*) AS sessions, max("peakMemoryBytes") AS "peakMemoryBytes",
  round(sum("cpuSeconds")::numeric, 6)::float8 AS "cpuSeconds", round(sum("wallSeconds")::numeric, 3)::float8 AS "wallSeconds"
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

import type { FigureGrouping, FigureSpan, RetryCount, TimeCount } from '../../../domain/insight/figures.ts'
import type { Database, Queryable } from '../../database.ts'
import { RUNNING_FIGURES, SUMMED_FIGURES, type SummedFigure, sumsOf } from './roll-up.sql.ts'

/** Which figures to read. */
export interface WantedFigures {
  visibleProjectId: string | null
  /** The name of the only project; null for all that are visible. */
  project: string | null
  grouping: FigureGrouping
  /** The key of the label; empty for other properties. */
  label: string
  spans: readonly FigureSpan[]
  /** Only these sessions, whose figures are then summed up anew; null for all. */
  sessionIds: readonly string[] | null
}

/** The sums of the attempts that have one value of the property. */
export type FigureSums = Record<SummedFigure, number>

export interface FigureRow extends FigureSums {
  /** The value; empty for none. */
  key: string
  retries_by_number: RetryCount[]
  times: TimeCount[]
}

/** The sums with their group: failures of a merged group count for the one that shows them. */
const KEYS = {
  plain: { key: 'r.key', joined: '' },
  merged: {
    key: 'coalesce(coalesce(g.merged_into, g.id)::text, r.key)',
    joined: ` LEFT JOIN failure_groups g ON g.id = nullif(r.key, '')::uuid`,
  },
}

const PROJECTS = `ARRAY(SELECT id FROM projects WHERE ($1::uuid IS NULL OR id = $1) AND ($2::text IS NULL OR name = $2))`
const SPANS = `unnest($5::bool[], $6::timestamptz[], $7::timestamptz[]) AS span(daily, from_at, to_at)`
const CHOSEN = 'SELECT a.*, 1 AS sign, true AS over FROM attempt_figures a WHERE a.session_id = ANY($8::uuid[])'
const RUNNING = `SELECT a.*, 1 AS sign, false AS over FROM (${RUNNING_FIGURES}) AS a
  WHERE $9::uuid[] IS NULL OR a.session_id = ANY($9)`

/** Index: the primary key of `rolled_figures`, once for each span. */
function wantedSums({ grouping, sessionIds }: WantedFigures, withRunning: boolean): string {
  const { key, joined } = grouping === 'FAILURE_GROUP' ? KEYS.merged : KEYS.plain
  const from = (
    source: string,
  ) => `SELECT ${key} AS key, r.at, r.retry, r.bucket, ${SUMMED_FIGURES.map((name) => `r.${name}`).join(', ')}
  FROM ${SPANS} JOIN ${source} AS r ON r.project_id = ANY(${PROJECTS}) AND r.grouping = $3::figure_grouping AND r.label = $4
    AND r.daily = span.daily AND r.at >= span.from_at AND r.at < span.to_at${joined} WHERE ($8::uuid[] IS NULL OR true)`
  const ended = from(sessionIds === null ? 'rolled_figures' : `(${sumsOf(CHOSEN)})`)
  return withRunning ? `${ended} UNION ALL ${from(`(${sumsOf(RUNNING)})`)}` : ended
}

function valuesOf({ visibleProjectId, project, grouping, label, spans, sessionIds }: WantedFigures): unknown[] {
  return [
    visibleProjectId,
    project,
    grouping,
    label,
    spans.map(({ daily }) => daily),
    spans.map(({ from }) => from),
    spans.map(({ to }) => to),
    sessionIds,
  ]
}

/** Most time lost, or most time spent, first. */
export const FIGURE_ORDERS = {
  LOST: 'lost_cpu_ms DESC, lost_ms DESC, failed DESC, attempts DESC',
  SPENT: 'cpu_ms DESC, running_ms DESC, sessions DESC',
} as const
export type FigureOrder = keyof typeof FIGURE_ORDERS

const sum = (name: string) => `sum(${name})::float8 AS ${name}`

function figuresStatement(wanted: WantedFigures, page: FigurePage): { text: string; values: unknown[] } {
  const values = valuesOf(wanted)
  const { running } = page
  if (running !== undefined) values.push(running)
  const text = `
WITH cells AS MATERIALIZED (
  SELECT key, retry, bucket, ${SUMMED_FIGURES.map(sum).join(', ')} FROM (${wantedSums(wanted, running !== undefined)}) AS wanted
  GROUP BY key, retry, bucket
), groups AS MATERIALIZED (
  SELECT key, ${SUMMED_FIGURES.map(sum).join(', ')} FROM cells GROUP BY key
  HAVING ${page.order === 'LOST' ? 'sum(attempts) <> 0' : 'sum(sessions) <> 0 OR sum(running_ms) <> 0'}
), shown AS MATERIALIZED (
  SELECT * FROM groups ORDER BY ${FIGURE_ORDERS[page.order]}, key LIMIT $${values.push(page.limit)}::int
), curves AS (
  SELECT key, json_agg(json_build_object('retry', retry + 1, 'succeeded', saved, 'failed', retries_failed,
    'stopped', retries - saved - retries_failed) ORDER BY retry) AS points
  FROM (SELECT key, retry, ${['retries', 'saved', 'retries_failed'].map(sum).join(', ')} FROM cells
    GROUP BY key, retry HAVING sum(retries) <> 0) AS c GROUP BY key
), times AS (
  SELECT key, json_agg(json_build_object('bucket', bucket, 'chains', saved)) AS counts
  FROM (SELECT key, bucket, ${sum('saved')} FROM cells WHERE bucket >= 0 GROUP BY key, bucket) AS t GROUP BY key
)
SELECT shown.*, coalesce(curves.points, '[]') AS retries_by_number, coalesce(times.counts, '[]') AS times
FROM shown LEFT JOIN curves USING (key) LEFT JOIN times USING (key) ORDER BY ${FIGURE_ORDERS[page.order]}, key`
  return { text, values }
}

export interface FigurePage {
  order: FigureOrder
  limit: number
  /** Counts sessions that run, too: these, or all for null. Missing for none. */
  running?: readonly string[] | null
}

/** Reads the groups that have figures in the spans. @throws if it takes longer than `timeoutMs` */
export async function readFigures(
  db: Database,
  wanted: WantedFigures,
  page: FigurePage,
  timeoutMs: number,
): Promise<FigureRow[]> {
  const { text, values } = figuresStatement(wanted, page)
  return (await db.queryWithin<FigureRow>(timeoutMs, text, values)).rows
}

export interface FigurePoint extends FigureSums {
  key: string
  at: Date
}

/** Reads the sums of these groups by hour or day. @throws if it takes longer than `timeoutMs` */
export async function readFigureSeries(
  db: Database,
  wanted: WantedFigures,
  { keys, daily }: { keys: readonly string[]; daily: boolean },
  timeoutMs: number,
): Promise<FigurePoint[]> {
  const values = valuesOf(wanted)
  const text = `
SELECT key, ${daily ? `date_trunc('day', at, 'UTC')` : 'at'} AS at, ${SUMMED_FIGURES.map(sum).join(', ')}
FROM (${wantedSums(wanted, false)}) AS wanted WHERE key = ANY($${values.push(keys)}::text[])
GROUP BY 1, 2 ORDER BY 2, 1`
  return (await db.queryWithin<FigurePoint>(timeoutMs, text, values)).rows
}

/** The names that people know groups by, by key. Groups of properties that are named by their values are missing. */
const TITLES: Partial<Record<FigureGrouping, string>> = {
  PROJECT: 'SELECT id, name AS title FROM projects',
  USER: 'SELECT id, name AS title FROM users',
  AGENT: 'SELECT id, name AS title FROM agents',
  SESSION_GROUP: 'SELECT id, name AS title FROM session_groups',
  FAILURE_GROUP: 'SELECT id, coalesce(name, title) AS title FROM failure_groups',
}

export async function readFigureTitles(
  db: Queryable,
  grouping: FigureGrouping,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const titles = TITLES[grouping]
  const ids = keys.filter((key) => key !== '')
  if (titles === undefined || ids.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; title: string }>(`${titles} WHERE id = ANY($1::uuid[])`, [ids])
  return new Map(rows.map(({ id, title }) => [id, title]))
}

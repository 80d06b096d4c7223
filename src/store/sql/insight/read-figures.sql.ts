import type { FigureGrouping, FigureSpans, RetryCount, TimeCount } from '../../../domain/insight/figures.ts'
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
  /** The edges are summed up from the attempts that ended in them. */
  spans: FigureSpans
  /** Only these sessions, whose figures are then summed up anew, for the edges alone; null for all. */
  sessionIds: readonly string[] | null
}

/** The sums of the attempts that have one value of the property. */
export type FigureSums = Record<SummedFigure, number>

/** Of no attempt. */
export const NO_SUMS = Object.fromEntries(SUMMED_FIGURES.map((name) => [name, 0])) as FigureSums

/** Figures of failures are missing where what was spent is read, and the other way round. */
export interface FigureRow extends Partial<FigureSums> {
  /** The value; empty for none. */
  key: string
}

/** The sums with their group: failures of a merged group count for the one that shows them. */
const KEYS = {
  plain: { key: 'r.key', joined: '', keys: '$10::text[]' },
  merged: {
    key: 'coalesce(coalesce(g.merged_into, g.id)::text, r.key)',
    joined: ` LEFT JOIN failure_groups g ON g.id = nullif(r.key, '')::uuid`,
    keys: `$10::text[] || ARRAY(SELECT m.id::text FROM failure_groups m WHERE m.merged_into IS NOT NULL AND m.merged_into::text = ANY($10))`,
  },
}

const PROJECTS = `ARRAY(SELECT id FROM projects WHERE ($1::uuid IS NULL OR id = $1) AND ($2::text IS NULL OR name = $2))`
const EDGES = 'SELECT * FROM unnest($7::timestamptz[], $8::timestamptz[]) AS edge(from_at, to_at)'
const ENDED = 'SELECT a.*, 1 AS sign, true AS over FROM attempt_figures a WHERE'
const SOURCES = {
  /** Index: attempt_figures(project_id, ended_at). */
  edges: `${ENDED} a.project_id = ANY(${PROJECTS}) AND EXISTS (SELECT FROM (${EDGES}) AS e WHERE a.ended_at >= e.from_at AND a.ended_at < e.to_at)
    AND a.ended_at >= (SELECT min(from_at) FROM (${EDGES}) AS e) AND a.ended_at < (SELECT max(to_at) FROM (${EDGES}) AS e)`,
  chosen: `${ENDED} a.session_id = ANY($9::uuid[]) AND a.project_id = ANY(${PROJECTS})`,
  running: `SELECT a.*, 1 AS sign, false AS over FROM (${RUNNING_FIGURES}) AS a
    WHERE a.project_id = ANY(${PROJECTS}) AND ($9::uuid[] IS NULL OR a.session_id = ANY($9))`,
}
/** The hour in which an attempt ended. */
const HOUR = `SELECT date_trunc('hour', a.ended_at, 'UTC') AS from_at, date_trunc('hour', a.ended_at, 'UTC') + interval '1 hour' AS to_at`

interface Sources {
  running?: boolean
  hourly?: boolean
  /** By retry and class of time. */
  retries?: boolean
}

/** With sessions that run, the edges are for these alone. Indexes: the primary key of `rolled_figures`, rolled_retries_key. */
function wantedSums(
  { grouping, sessionIds, spans }: WantedFigures,
  sums: readonly SummedFigure[],
  { running, hourly, retries }: Sources,
): string {
  const { key, joined, keys } = grouping === 'FAILURE_GROUP' ? KEYS.merged : KEYS.plain
  const from = (source: string, where: string) =>
    `SELECT ${key} AS key, r.at${retries ? ', r.retry, r.bucket' : ''}, ${sums.map((name) => `r.${name}`).join(', ')} FROM ${source} AS r${joined}
  WHERE r.grouping = $3::figure_grouping AND r.label = $4${where}`
  const summed = (source: keyof typeof SOURCES) =>
    from(
      `(${sumsOf(SOURCES[source], { parts: hourly ? HOUR : EDGES, groupings: [grouping] })})`,
      retries ? ` AND (r.retry >= 0 OR r.bucket >= 0) AND r.key = ANY(${keys})` : '',
    )
  const days = from(
    retries ? 'rolled_retries' : 'rolled_figures',
    ` AND r.project_id = ANY(${PROJECTS}) AND r.at >= $5::timestamptz AND r.at < $6::timestamptz${retries ? ` AND r.retry >= -1 AND r.key = ANY(${keys})` : ''}`,
  )
  const ended =
    sessionIds !== null ? [summed('chosen')] : [days, ...(spans.edges.length > 0 && !running ? [summed('edges')] : [])]
  return [...ended, ...(running ? [summed('running')] : [])].join(' UNION ALL ')
}

function valuesOf(wanted: WantedFigures, running: readonly string[] | null): unknown[] {
  const { visibleProjectId, project, grouping, label, spans, sessionIds } = wanted
  return [
    visibleProjectId,
    project,
    grouping,
    label,
    spans.days?.from ?? null,
    spans.days?.to ?? null,
    spans.edges.map(({ from }) => from),
    spans.edges.map(({ to }) => to),
    sessionIds === null && running === null ? null : [...(sessionIds ?? []), ...(running ?? [])],
  ]
}

/** Most time lost, or most time spent, first; and the sums that are read. */
const ORDERS = {
  LOST: {
    order: 'lost_cpu_ms DESC, lost_ms DESC, failed DESC, attempts DESC',
    given: 'sum(attempts) <> 0',
    sums: SUMMED_FIGURES.slice(SUMMED_FIGURES.indexOf('attempts')),
  },
  SPENT: {
    order: 'cpu_ms DESC, running_ms DESC, sessions DESC',
    given: 'sum(sessions) <> 0 OR sum(running_ms) <> 0',
    sums: SUMMED_FIGURES.slice(0, SUMMED_FIGURES.indexOf('attempts')),
  },
} as const satisfies Record<string, { order: string; given: string; sums: readonly SummedFigure[] }>
export type FigureOrder = keyof typeof ORDERS

/** Not every form of the statement reads all values, but PostgreSQL must know their types. */
const ALL_TYPED = `(true OR $5::timestamptz IS NULL OR $6::timestamptz IS NULL OR $7::timestamptz[] IS NULL OR $8::timestamptz[] IS NULL
    OR $9::uuid[] IS NULL)`

const sum = (name: string) => `sum(${name}) AS ${name}`

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
  { order: name, limit, running }: FigurePage,
  timeoutMs: number,
): Promise<FigureRow[]> {
  const { order, given, sums } = ORDERS[name]
  const values = valuesOf(wanted, running ?? null)
  const text = `
SELECT key, ${sums.map(sum).join(', ')} FROM (${wantedSums(wanted, sums, { running: running !== undefined })}) AS wanted
WHERE ${ALL_TYPED} GROUP BY key HAVING ${given} ORDER BY ${order}, key LIMIT $${values.push(limit)}::int`
  return (await db.queryWithin<FigureRow>(timeoutMs, text, values)).rows
}

/** How retries ended, by the value of the property. */
export interface RetryRow {
  key: string
  counts: RetryCount[]
  times: TimeCount[]
}

/** Reads how the retries of these groups ended. @throws if it takes longer than `timeoutMs` */
export async function readRetryFigures(
  db: Database,
  wanted: WantedFigures,
  keys: readonly string[],
  timeoutMs: number,
): Promise<RetryRow[]> {
  const values = [...valuesOf(wanted, null), keys]
  const text = `
SELECT key, coalesce(array_agg(bucket) FILTER (WHERE bucket >= 0), '{}') AS buckets, coalesce(array_agg(saved) FILTER (WHERE bucket >= 0), '{}') AS chains,
  coalesce(json_agg(json_build_object('retry', retry + 1, 'succeeded', saved, 'failed', retries_failed,
    'stopped', retries - saved - retries_failed)) FILTER (WHERE retry >= 0), '[]') AS counts
FROM (
  SELECT key, retry, bucket, ${RETRY_SUMS.map(sum).join(', ')} FROM (${wantedSums(wanted, RETRY_SUMS, { retries: true })}) AS wanted
  WHERE ${ALL_TYPED} GROUP BY key, retry, bucket HAVING sum(retries) <> 0 OR sum(saved) <> 0
) AS cells GROUP BY key`
  const { rows } = await db.queryWithin<RetryCells>(timeoutMs, text, values)
  return rows.map(({ key, counts, buckets, chains }) => ({
    key,
    counts: addUp(counts),
    times: buckets.map((bucket, index) => ({ bucket, chains: chains[index]! })),
  }))
}

/** Arrays are made, sent and read faster than objects: there are many classes of time. */
interface RetryCells {
  key: string
  counts: RetryCount[]
  buckets: number[]
  chains: number[]
}

/** A retry has several counts, one for each class of time, where attempts were summed up anew. */
function addUp(counts: readonly RetryCount[]): RetryCount[] {
  return [...Map.groupBy(counts, ({ retry }) => retry)].map(([retry, own]) => ({
    retry,
    succeeded: own.reduce((all, { succeeded }) => all + succeeded, 0),
    failed: own.reduce((all, { failed }) => all + failed, 0),
    stopped: own.reduce((all, { stopped }) => all + stopped, 0),
  }))
}

const RETRY_SUMS = ['retries', 'saved', 'retries_failed'] as const satisfies SummedFigure[]

/** What attempts came to, without what sessions of all types spent. */
type Spent = 'sessions' | 'running_ms' | 'cpu_ms' | 'memory_mib_ms' | 'gpu_ms' | 'used_cpu_ms'

export interface FigurePoint extends Omit<FigureSums, Spent> {
  key: string
  at: Date
}

/** Reads the sums of these groups by the day, or hour by hour from the attempts. @throws if it takes longer than `timeoutMs` */
export async function readFigureSeries(
  db: Database,
  wanted: WantedFigures,
  { keys, hourly }: { keys: readonly string[]; hourly: boolean },
  timeoutMs: number,
): Promise<FigurePoint[]> {
  const values = valuesOf(wanted, null)
  const text = `
SELECT key, ${hourly ? 'at' : `date_trunc('day', at, 'UTC')`} AS at, ${ORDERS.LOST.sums.map(sum).join(', ')}
FROM (${wantedSums(wanted, ORDERS.LOST.sums, { hourly })}) AS wanted WHERE ${ALL_TYPED} AND key = ANY($${values.push(keys)}::text[])
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

import { FIGURE_GROUPINGS, type FigureGrouping } from '../../../domain/insight/figures.ts'
import type { FailureCause } from '../../../domain/session/failure.ts'
import type { Queryable } from '../../database.ts'

/**
 * The figures of attempts. `attempt_figures` has a row for each attempt that has ended, with what it has added to
 * `rolled_figures`, the sums by day, and `rolled_retries`. Whatever changes an attempt's figures (its decision, the end of its
 * retry, usage that is reported late, its group of failures) adds a row to `figures_due` in the same transaction. Only
 * roll-up-figures takes these rows: in one transaction it computes the attempts' figures anew, subtracts from the sums
 * what they have added before, and adds what they come to now. So the sums are those of the attempts' rows after any
 * crash, and an attempt may be due any number of times. A deleted session's row is deleted with it, and its sums stay.
 */

/** Retries from this number on are summed up together. */
const RETRY_MAX = 100

/** Sums over kernels `k` of the session, and the agent of the one that decided. */
const KERNEL_FIGURES = `
  SELECT sum(k.cpu_seconds) AS cpu_seconds, max(k.peak_memory_bytes) AS peak_memory_bytes,
    (array_agg(k.agent_id ORDER BY k.role || k.index = coalesce(s.status_data ->> 'kernel', 'main1') DESC, k.role, k.index))[1] AS agent_id
  FROM kernels k WHERE k.session_id = s.id`

const SLOTS = (slot: string) => `coalesce((s.resource_slots ->> '${slot}')::float8, 0)`
const MILLISECONDS = (span: string) => `greatest(0, round(extract(epoch FROM ${span}) * 1000))::bigint`

/** When an attempt began to wait: a retry when its parent ended. */
const WAITS_FROM = `greatest(s.starts_at, CASE WHEN s.origin = 'AUTO_RETRY'
    THEN (SELECT p.terminated_at FROM sessions p WHERE p.id = s.parent_session_id) END, CASE WHEN s.origin <> 'AUTO_RETRY' THEN s.created_at END)`

/** How session `name` ended: STOPPED if a person ended it, or it has no result. */
const outcomeOf = (name: string) => `CASE WHEN ${name}.result = 'SUCCESS' THEN 'SUCCEEDED'
    WHEN ${name}.result = 'FAILURE' AND ${name}.failure_cause IS DISTINCT FROM 'USER_CANCELLED' THEN 'FAILED' ELSE 'STOPPED' END::attempt_outcome`

/** The columns of `attempt_figures`, in their order. A session that runs is taken to end now. */
const FIGURES = {
  session_id: 's.id',
  project_id: 's.project_id',
  chain_id: 's.chain_id',
  attempt: 's.attempt',
  batch: `s.session_type = 'BATCH'`,
  started_at: 's.started_at',
  ended_at: 'coalesce(s.terminated_at, reprise_now()::timestamptz(3))',
  name: 's.name',
  user_id: 's.user_id',
  resource_group: 's.resource_group',
  image: 's.image',
  agent_id: 'kernels.agent_id',
  group_id: 's.group_id',
  labels: 's.labels',
  outcome: outcomeOf('s'),
  cause: 's.failure_cause',
  exit_code: 's.exit_code',
  rule: `CASE WHEN s.failure_cause IS NOT NULL THEN (s.retry_policy -> 'rules' -> d.matched_rule)::text END`,
  failure_group_id: 'f.group_id',
  retry: `least(s.retry_count + s.uncounted_retries, ${RETRY_MAX})::int2`,
  retry_outcome: 'retried.outcome',
  lost: `coalesce(s.origin = 'AUTO_RETRY' AND s.result = 'FAILURE' AND s.failure_cause <> 'USER_CANCELLED'
    AND d.phase IN ('EXHAUSTED', 'NOT_ELIGIBLE'), false)`,
  saved_after_ms: `CASE WHEN retried.outcome = 'SUCCEEDED' THEN ${MILLISECONDS('retried.terminated_at - s.epoch_started_at')} END`,
  waited_ms: MILLISECONDS(`coalesce(s.started_at, s.terminated_at, reprise_now()) - ${WAITS_FROM}`),
  cpus: `${SLOTS('cpu')} * s.cluster_size`,
  memory_bytes: `${SLOTS('mem')} * s.cluster_size`,
  gpus: `(${SLOTS('cuda.device')} + ${SLOTS('rocm.device')}) * s.cluster_size`,
  used_cpu_ms: 'round(kernels.cpu_seconds * 1000)::bigint',
  peak_memory_bytes: 'kernels.peak_memory_bytes',
} as const

const FIGURES_NAMES = Object.keys(FIGURES)
const FIGURES_COLUMNS = Object.entries(FIGURES)
  .map(([name, expression]) => `${expression} AS ${name}`)
  .join(', ')

/** Indexes: primary keys, sessions(parent_session_id), kernels(session_id, …). */
const FIGURES_FROM = `sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
  LEFT JOIN failures f ON f.session_id = s.id
  LEFT JOIN LATERAL (SELECT ${outcomeOf('c')} AS outcome, c.terminated_at FROM sessions c
    WHERE c.parent_session_id = s.id AND c.origin = 'AUTO_RETRY' AND c.retry_decided AND c.terminated_at IS NOT NULL) AS retried ON true
  LEFT JOIN LATERAL (${KERNEL_FIGURES}) AS kernels ON true`

/** The figures of sessions that run, up to now. Index: sessions_active. */
export const RUNNING_FIGURES = `SELECT ${FIGURES_COLUMNS} FROM ${FIGURES_FROM} WHERE s.status IN ('RUNNING', 'TERMINATING') AND s.started_at IS NOT NULL`

/** Times to success have four buckets for each doubling, from one second on. */
const BUCKET = `CASE WHEN a.saved_after_ms IS NULL OR NOT t.ends THEN -1
  ELSE floor(4 * ln(greatest(a.saved_after_ms, 1000) / 1000.0::float8) / ln(2::float8)) END::int2`

/** The days (UTC) in which an attempt ran, of which it ended in the last one. */
const DAYS = `
  SELECT at AS from_at, at + interval '24 hours' AS to_at FROM generate_series(
    date_trunc('day', least(a.started_at, a.ended_at), 'UTC'), a.ended_at, interval '24 hours') AS at`

/** How much of an attempt is in a part of time. */
const PART = `
  SELECT whole.from_at, a.over AND a.ended_at >= whole.from_at AND a.ended_at < whole.to_at AS ends, CASE WHEN a.started_at IS NULL THEN 0
    ELSE greatest(0, round(extract(epoch FROM least(a.ended_at, whole.to_at) - greatest(a.started_at, whole.from_at)) * 1000)) END::float8 AS ms`

/** The columns of an attempt that its properties are made of. */
const VALUE_COLUMNS: Record<FigureGrouping, string> = {
  PROJECT: 'project_id',
  NAME: 'name',
  USER: 'user_id',
  RESOURCE_GROUP: 'resource_group',
  IMAGE: 'image',
  AGENT: 'agent_id',
  SESSION_GROUP: 'group_id',
  CAUSE: 'cause',
  EXIT_CODE: 'exit_code',
  RULE: 'rule',
  FAILURE_GROUP: 'failure_group_id',
  LABEL: 'labels',
}

/** The values of an attempt's properties. A failed attempt has one of each kind; there is none for a missing group or image. */
const VALUES: Record<Exclude<FigureGrouping, 'LABEL'>, string> = {
  PROJECT: 'a.project_id::text',
  NAME: 'a.name',
  USER: `coalesce(a.user_id::text, '')`,
  RESOURCE_GROUP: 'a.resource_group',
  IMAGE: 'a.image',
  AGENT: `coalesce(a.agent_id::text, '')`,
  SESSION_GROUP: 'a.group_id::text',
  CAUSE: `CASE WHEN a.failed THEN coalesce(a.cause::text, '') END`,
  EXIT_CODE: `CASE WHEN a.failed THEN coalesce(a.exit_code::text, '') END`,
  RULE: `CASE WHEN a.failed THEN coalesce(a.rule, '') END`,
  FAILURE_GROUP: `CASE WHEN a.failed THEN coalesce(a.failure_group_id::text, '') END`,
}

const LABELS = `SELECT 'LABEL'::figure_grouping, l.key, l.value FROM jsonb_each_text(a.labels) AS l`

function propertiesOf(groupings: readonly FigureGrouping[]): string {
  const values = groupings.flatMap((name) =>
    name === 'LABEL' ? [] : [`('${name}'::figure_grouping, ${VALUES[name]})`],
  )
  const named = `SELECT v.grouping, '' AS label, v.key FROM (VALUES ${values.join(', ')}) AS v(grouping, key) WHERE v.key IS NOT NULL`
  return [...(values.length > 0 ? [named] : []), ...(groupings.includes('LABEL') ? [LABELS] : [])].join(' UNION ALL ')
}

/** The columns that are summed up, from an attempt `a` and one of its slices `t`. */
const SUMS = {
  sessions: 'a.sign * t.ends::int',
  running_ms: 'a.sign * t.ms::bigint',
  cpu_ms: 'a.sign * round(a.cpus * t.ms)::bigint',
  memory_mib_ms: 'a.sign * round(a.memory_bytes / 1048576 * t.ms)::bigint',
  gpu_ms: 'a.sign * round(a.gpus * t.ms)::bigint',
  used_cpu_ms:
    'a.sign * CASE WHEN a.ran = 0 THEN a.used_cpu_ms * t.ends::int ELSE round(a.used_cpu_ms * (t.ms / a.ran)) END::bigint',
  attempts: 'a.judged * t.ends::int',
  failed: 'a.judged * (t.ends AND a.failed)::int',
  retries: 'a.judged * (t.ends AND a.retry_outcome IS NOT NULL)::int',
  saved: `a.judged * (t.ends AND coalesce(a.retry_outcome = 'SUCCEEDED', false))::int`,
  retries_failed: `a.judged * (t.ends AND coalesce(a.retry_outcome = 'FAILED', false))::int`,
  lost: 'a.judged * (t.ends AND a.lost)::int',
  waited_ms: 'a.judged * CASE WHEN t.ends THEN a.waited_ms ELSE 0 END',
  useful_ms: `a.judged * CASE WHEN t.ends AND a.outcome = 'SUCCEEDED' THEN a.ran::bigint ELSE 0 END`,
  spent_ms: 'a.judged * CASE WHEN t.ends THEN a.ran::bigint ELSE 0 END',
  lost_ms: 'a.judged * CASE WHEN t.ends AND a.failed THEN a.ran::bigint ELSE 0 END',
  lost_cpu_ms: 'a.judged * CASE WHEN t.ends AND a.failed THEN round(a.cpus * a.ran)::bigint ELSE 0 END',
  lost_memory_mib_ms:
    'a.judged * CASE WHEN t.ends AND a.failed THEN round(a.memory_bytes / 1048576 * a.ran)::bigint ELSE 0 END',
  lost_gpu_ms: 'a.judged * CASE WHEN t.ends AND a.failed THEN round(a.gpus * a.ran)::bigint ELSE 0 END',
} as const

export type SummedFigure = keyof typeof SUMS
export const SUMMED_FIGURES = Object.keys(SUMS) as SummedFigure[]

export const SUMS_KEY = 'project_id, grouping, label, at, key'
const RETRIES = ['retries', 'saved', 'retries_failed']

/**
 * Sums attempts up, by the keys of `rolled_figures`, the number of their retry (-1 without one that has ended) and the class
 * of their time to success (-1 without success). `attempts` is a query for the columns of `attempt_figures`, a `sign`, and
 * whether the attempt is `over`. `parts` is a query for the parts of time to sum up for an attempt `a`: days if missing.
 */
export function sumsOf(
  attempts: string,
  { parts = DAYS, groupings = FIGURE_GROUPINGS }: { parts?: string; groupings?: readonly FigureGrouping[] } = {},
): string {
  // The figures of a part are computed once, not once for each property.
  const figures = SUMMED_FIGURES.map((name) => `coalesce(${SUMS[name]}, 0)::float8 AS sum_${name}`)
  const parted = `SELECT a.*, t.from_at AS at, CASE WHEN t.ends AND a.retry_outcome IS NOT NULL THEN a.retry ELSE -1 END::int2 AS part_retry,
    ${BUCKET} AS bucket, ${figures.join(', ')}
  FROM (SELECT a.*, a.sign * a.batch::int AS judged, a.batch AND a.outcome = 'FAILED' AS failed,
      coalesce(greatest(0, round(extract(epoch FROM a.ended_at - a.started_at) * 1000)), 0)::float8 AS ran FROM (${attempts}) AS a) AS a
  CROSS JOIN LATERAL (${parts}) AS whole CROSS JOIN LATERAL (${PART}) AS t OFFSET 0`
  return `SELECT a.project_id, p.grouping, p.label, a.at, p.key, a.part_retry AS retry, a.bucket,
  ${SUMMED_FIGURES.map((name) => `sum(a.sum_${name}) AS ${name}`).join(', ')}
FROM (${groupings.length > 1 ? sumsOfAlike(parted, groupings) : parted}) AS a
CROSS JOIN LATERAL (${propertiesOf(groupings)}) AS p(grouping, label, key)
GROUP BY a.project_id, p.grouping, p.label, a.at, p.key, a.part_retry, a.bucket`
}

/** Attempts with the same properties, as those of a batch of jobs, are summed up before each of their properties is. */
function sumsOfAlike(parted: string, groupings: readonly FigureGrouping[]): string {
  const alike = [
    ...new Set(['project_id', ...groupings.map((name) => VALUE_COLUMNS[name])]),
    'failed',
    'at',
    'part_retry',
    'bucket',
  ].join(', ')
  const sums = SUMMED_FIGURES.map((name) => `sum(sum_${name}) AS sum_${name}`).join(', ')
  return `SELECT ${alike}, ${sums} FROM (${parted}) AS a GROUP BY ${alike}`
}

/**
 * Parts of a statement that add attempts, as in `sumsOf`, to what is summed up. Rows that are read together are stored
 * together.
 */
export function storeSums(attempts: string): string {
  return `sums AS MATERIALIZED (${sumsOf(attempts)}
), summed AS (
  INSERT INTO rolled_figures AS r (${SUMS_KEY}, ${SUMMED_FIGURES.join(', ')})
  SELECT ${SUMS_KEY}, ${SUMMED_FIGURES.map((name) => `sum(${name})`).join(', ')} FROM sums GROUP BY ${SUMS_KEY}
  HAVING ${SUMMED_FIGURES.map((name) => `sum(${name}) <> 0`).join(' OR ')} ORDER BY ${SUMS_KEY}
  ON CONFLICT (${SUMS_KEY}) DO UPDATE SET ${added(SUMMED_FIGURES)}
), summed_retries AS (
  INSERT INTO rolled_retries AS r (${SUMS_KEY}, retry, bucket, ${RETRIES.join(', ')})
  SELECT ${SUMS_KEY}, retry, -1, ${RETRIES.map((name) => `sum(${name})`).join(', ')} FROM sums
  WHERE retry >= 0 GROUP BY ${SUMS_KEY}, retry HAVING ${RETRIES.map((name) => `sum(${name}) <> 0`).join(' OR ')}
  UNION ALL SELECT ${SUMS_KEY}, -1, bucket, 0, sum(saved), 0 FROM sums
  WHERE bucket >= 0 GROUP BY ${SUMS_KEY}, bucket HAVING sum(saved) <> 0
  ON CONFLICT (${SUMS_KEY}, retry, bucket) WHERE retry >= -1 DO UPDATE SET ${added(RETRIES)}`
}

function added(names: readonly string[]): string {
  return names.map((name) => `${name} = r.${name} + EXCLUDED.${name}`).join(', ')
}

const LOCK = `hashtext('reprise:roll-up-figures')`
const ALONE_SQL = `SELECT pg_try_advisory_xact_lock(${LOCK}) AS alone`

/** Index: the primary key. */
const TAKE_SQL = `
DELETE FROM figures_due WHERE id IN (SELECT id FROM figures_due ORDER BY id LIMIT $1) RETURNING session_id AS id`

/** The attempts whose retries are among these, whose figures change with them. */
const PARENTS_SQL = `
SELECT s.parent_session_id AS id FROM sessions s WHERE s.id = ANY($1::uuid[]) AND s.origin = 'AUTO_RETRY'`

/**
 * Takes attempts whose figures may have changed, oldest first. One server at a time does this, so that no two subtract
 * the same figures. The transaction must sum them up.
 */
export async function takeDueFigures(tx: Queryable, limit: number): Promise<{ taken: number; sessionIds: string[] }> {
  const { rows } = await tx.query<{ alone: boolean }>(ALONE_SQL)
  if (!rows[0]!.alone) return { taken: 0, sessionIds: [] }
  const due = (await tx.query<{ id: string }>(TAKE_SQL, [limit])).rows
  if (due.length === 0) return { taken: 0, sessionIds: [] }
  const sessionIds = [...new Set(due.map(({ id }) => id))]
  const parents = (await tx.query<{ id: string }>(PARENTS_SQL, [sessionIds])).rows.map(({ id }) => id)
  return { taken: due.length, sessionIds: [...new Set([...sessionIds, ...parents])] }
}

/** Attempts that have ended and whose figures are not what is on record. */
const ROLL_UP_SQL = `
WITH fresh AS MATERIALIZED (
  SELECT ${FIGURES_COLUMNS} FROM ${FIGURES_FROM}
  WHERE s.id = ANY($1::uuid[]) AND s.terminated_at IS NOT NULL AND s.retry_decided
), old AS MATERIALIZED (
  SELECT o.* FROM attempt_figures o WHERE o.session_id = ANY($1::uuid[])
), changed AS MATERIALIZED (
  SELECT fresh.* FROM fresh LEFT JOIN old USING (session_id) WHERE old.session_id IS NULL OR ROW(old.*) IS DISTINCT FROM ROW(fresh.*)
), ${storeSums(`SELECT changed.*, 1 AS sign, true AS over FROM changed
    UNION ALL SELECT old.*, -1, true FROM old JOIN changed USING (session_id)`)}
), recorded AS (
  INSERT INTO attempt_figures (${FIGURES_NAMES.join(', ')}) SELECT * FROM changed
  ON CONFLICT (session_id) DO UPDATE SET ${FIGURES_NAMES.map((name) => `${name} = EXCLUDED.${name}`).join(', ')}
)
SELECT c.cause, c.outcome = 'FAILED' AS lost, coalesce(sum(c.cpus * c.seconds), 0) AS cpu,
  coalesce(sum(c.memory_bytes * c.seconds), 0) AS mem, coalesce(sum(c.gpus * c.seconds), 0) AS gpu
FROM (SELECT changed.*, extract(epoch FROM changed.ended_at - changed.started_at)::float8 AS seconds FROM changed
  LEFT JOIN old USING (session_id) WHERE old.session_id IS NULL) AS c
WHERE c.batch AND c.seconds > 0 AND (c.outcome = 'FAILED' OR c.outcome = 'SUCCEEDED' AND c.retry > 0)
GROUP BY 1, 2`

/** Slot-seconds of attempts that were summed up for the first time: of failed ones by cause, and of successful retries. */
export interface RolledCost {
  cause: FailureCause | null
  lost: boolean
  cpu: number
  mem: number
  gpu: number
}

export async function rollUpFigures(tx: Queryable, sessionIds: readonly string[]): Promise<RolledCost[]> {
  if (sessionIds.length === 0) return []
  return (await tx.query<RolledCost>(ROLL_UP_SQL, [sessionIds])).rows
}

const TAKE_CHAINS_SQL = `
DELETE FROM figures_due WHERE session_id IN (SELECT id FROM sessions WHERE chain_id = ANY($1::uuid[])) RETURNING session_id AS id`

/**
 * Sums up what is still to be summed up of chains that the transaction is about to delete. It waits for another server
 * that sums up, which could not record the figures of deleted sessions. Index: figures_due(session_id).
 */
export async function rollUpChains(tx: Queryable, chainIds: readonly string[]): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
  const due = (await tx.query<{ id: string }>(TAKE_CHAINS_SQL, [chainIds])).rows
  const sessionIds = due.map(({ id }) => id)
  const parents = (await tx.query<{ id: string }>(PARENTS_SQL, [sessionIds])).rows.map(({ id }) => id)
  await rollUpFigures(tx, [...new Set([...sessionIds, ...parents])])
}

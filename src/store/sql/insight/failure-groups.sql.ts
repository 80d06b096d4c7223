import type { FailureCause } from '../../../domain/session/failure.ts'
import type { FailureGroupState } from '../../../domain/insight/failure-group.ts'
import type { Queryable } from '../../database.ts'
import { OVERFLOW_FINGERPRINT } from './failures.sql.ts'

/** A group of failures as it is stored. */
export interface FailureGroupRow {
  id: string
  projectId: string
  title: string
  /** The name that a person gave it. */
  name: string | null
  cause: FailureCause | null
  exitCode: number | null
  lines: string[]
  masked: string[]
  /** The pattern of the project's rule by which its first failure was grouped. */
  rule: string | null
  state: FailureGroupState
  note: string | null
  link: string | null
  mutedUntil: Date | null
  stateBy: string | null
  stateAt: Date | null
  regressedAt: Date | null
  mergedInto: string | null
  /** Of the masks by which it was made. */
  maskVersion: number
  /** Later versions by which its failures are recognised, each since an ISO 8601 time; oldest first. */
  maskChanges: { version: number; since: string }[]
  /** Whether it has the failures for which there were too many groups in a day. */
  isOverflow: boolean
  createdAt: Date
  lastAt: Date
}

/** A group that was muted until a time that has passed is open. */
const COLUMNS = `g.id, g.project_id AS "projectId", g.title, g.name, g.cause, g.exit_code AS "exitCode", g.lines, g.masked, g.rule,
  CASE WHEN g.state = 'MUTED' AND g.muted_until <= reprise_now() THEN 'OPEN' ELSE g.state::text END AS state,
  g.note, g.link, g.muted_until AS "mutedUntil", g.state_by AS "stateBy", g.state_at AS "stateAt",
  g.regressed_at AS "regressedAt", g.merged_into AS "mergedInto",
  g.fingerprint = '${OVERFLOW_FINGERPRINT}' AS "isOverflow", g.created_at AS "createdAt", g.last_at AS "lastAt",
  g.version AS "maskVersion", (SELECT coalesce(json_agg(c ORDER BY c.version), '[]') FROM (
    SELECT f.version, min(f.since) AS since FROM failure_fingerprints f WHERE f.group_id = g.id GROUP BY f.version) AS c) AS "maskChanges"`

const READ_SQL = `
SELECT ${COLUMNS} FROM failure_groups g WHERE g.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR g.project_id = $2)`

export async function readFailureGroups(
  db: Queryable,
  ids: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, FailureGroupRow>> {
  const { rows } = await db.query<FailureGroupRow>(READ_SQL, [ids, visibleProjectId])
  return new Map(rows.map((row) => [row.id, row]))
}

const OF_SESSIONS_SQL = `
SELECT f.session_id AS "sessionId", coalesce(g.merged_into, g.id) AS "groupId"
FROM failures f JOIN failure_groups g ON g.id = f.group_id WHERE f.session_id = ANY($1::uuid[])`

/** Reads the group that shows each of these failed sessions. */
export async function readGroupsOfSessions(db: Queryable, sessionIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ sessionId: string; groupId: string }>(OF_SESSIONS_SQL, [sessionIds])
  return new Map(rows.map(({ sessionId, groupId }) => [sessionId, groupId]))
}

export const FAILURE_GROUP_ORDERS = ['ATTEMPTS', 'CHAINS', 'LATEST', 'NEWEST', 'LOST'] as const
export type FailureGroupOrder = (typeof FAILURE_GROUP_ORDERS)[number]

/** Which failures count. */
export interface FailureSpan {
  visibleProjectId: string | null
  from: Date
  to: Date
  /** Only failures of these sessions; null for all. */
  sessionIds: readonly string[] | null
}

/** What failures of a group in a span come to. */
export interface FailureFigures {
  groupId: string
  attempts: number
  chains: number
  firstAt: Date
  lastAt: Date
  /** Chains that have succeeded since. */
  saved: number
  /** Seconds for which the programs ran that failed, and these times the CPUs that they held. */
  runningSeconds: number
  cpuSeconds: number
  /** Number of groups that match. */
  total: number
}

/** The failures of a span with the group that shows them. Index: failures(project_id, failed_at). */
const IN_SPAN = `failures f JOIN failure_groups g ON g.id = f.group_id
  WHERE f.failed_at >= $2 AND f.failed_at < $3 AND ($1::uuid IS NULL OR f.project_id = $1)
    AND ($4::uuid[] IS NULL OR f.session_id = ANY($4))`

const FIGURES = `count(*)::int AS attempts, count(DISTINCT f."chainId")::int AS chains, min(f."failedAt") AS "firstAt",
  max(f."failedAt") AS "lastAt", count(DISTINCT f."chainId") FILTER (WHERE c.state = 'SUCCEEDED')::int AS saved,
  coalesce(sum(f.seconds), 0)::float8 AS "runningSeconds", coalesce(sum(f.seconds * f.cpus), 0)::float8 AS "cpuSeconds"`

const RAN = `greatest(0, extract(epoch FROM s.terminated_at - s.started_at))::float8`

const ORDERS: Readonly<Record<FailureGroupOrder, string>> = {
  ATTEMPTS: 'attempts DESC',
  CHAINS: 'chains DESC',
  LATEST: '"lastAt" DESC',
  NEWEST: '(SELECT created_at FROM failure_groups n WHERE n.id = page."groupId") DESC',
  LOST: '"cpuSeconds" DESC',
}

const pageSql = (order: FailureGroupOrder) => `
SELECT page.*, (count(*) OVER ())::int AS total FROM (
  SELECT f."groupId", ${FIGURES} FROM (
    SELECT coalesce(g.merged_into, g.id) AS "groupId", f.chain_id AS "chainId", f.failed_at AS "failedAt", ${RAN} AS seconds,
      coalesce((s.resource_slots ->> 'cpu')::float8, 0) * s.cluster_size AS cpus
    FROM (SELECT f.* FROM ${IN_SPAN} AND ($8::uuid[] IS NULL OR g.id = ANY($8) OR g.merged_into = ANY($8))) AS f JOIN failure_groups g ON g.id = f.group_id JOIN sessions s ON s.id = f.session_id
  ) AS f JOIN chains c ON c.chain_id = f."chainId" GROUP BY f."groupId"
) AS page
JOIN failure_groups shown ON shown.id = page."groupId" AND ($5::text[] IS NULL OR (
  CASE WHEN shown.state = 'MUTED' AND shown.muted_until <= reprise_now() THEN 'OPEN' ELSE shown.state::text END) = ANY($5))
ORDER BY ${ORDERS[order]}, page."groupId" LIMIT $6 OFFSET $7`

interface FailurePage {
  order: FailureGroupOrder
  states: readonly FailureGroupState[] | null
  /** Only these groups; all if missing. */
  groupIds?: readonly string[]
  limit: number
  offset: number
}

/** Reads a page of the groups that have failures in the span. */
export async function listFailureGroups(
  db: Queryable,
  span: FailureSpan,
  page: FailurePage,
): Promise<FailureFigures[]> {
  const { visibleProjectId, from, to, sessionIds } = span
  const values = [visibleProjectId, from, to, sessionIds, page.states, page.limit, page.offset, page.groupIds ?? null]
  return (await db.query<FailureFigures>(pageSql(page.order), values)).rows
}

/** Where the failures of a group happened, and some of them. */
export interface FailurePlaces {
  groupId: string
  agents: { name: string; attempts: number }[]
  images: { name: string; attempts: number }[]
  /** Newest first. */
  sessionIds: string[]
  /** Numbers of attempts in equal parts of the span, oldest first. */
  buckets: number[]
}

const PLACES_SQL = `
WITH mine AS MATERIALIZED (
  SELECT coalesce(g.merged_into, g.id) AS group_id, f.session_id, f.failed_at FROM ${IN_SPAN}
    AND coalesce(g.merged_into, g.id) = ANY($5::uuid[])
)
SELECT wanted.id AS "groupId",
  coalesce((SELECT json_agg(each ORDER BY each.attempts DESC, each.name) FROM (
    SELECT a.name, count(DISTINCT m.session_id)::int AS attempts FROM mine m JOIN kernels k ON k.session_id = m.session_id
    JOIN agents a ON a.id = k.agent_id WHERE m.group_id = wanted.id GROUP BY a.name ORDER BY 2 DESC, 1 LIMIT $6) AS each), '[]') AS agents,
  coalesce((SELECT json_agg(each ORDER BY each.attempts DESC, each.name) FROM (
    SELECT s.image AS name, count(*)::int AS attempts FROM mine m JOIN sessions s ON s.id = m.session_id
    WHERE m.group_id = wanted.id AND s.image IS NOT NULL GROUP BY s.image ORDER BY 2 DESC, 1 LIMIT $6) AS each), '[]') AS images,
  ARRAY(SELECT m.session_id FROM mine m WHERE m.group_id = wanted.id ORDER BY m.failed_at DESC LIMIT 3) AS "sessionIds",
  ARRAY(SELECT (SELECT count(*)::int FROM mine m WHERE m.group_id = wanted.id
      AND width_bucket(extract(epoch FROM m.failed_at), extract(epoch FROM $2::timestamptz), extract(epoch FROM $3::timestamptz), $7::int) = part)
    FROM generate_series(1, $7::int) AS part ORDER BY part) AS buckets
FROM unnest($5::uuid[]) AS wanted(id)`

/** @param parts the number of equal parts of the span */
export async function readFailurePlaces(
  db: Queryable,
  span: FailureSpan,
  { groupIds, most, parts }: { groupIds: readonly string[]; most: number; parts: number },
): Promise<Map<string, FailurePlaces>> {
  const { visibleProjectId, from, to, sessionIds } = span
  const values = [visibleProjectId, from, to, sessionIds, groupIds, most, parts]
  const { rows } = await db.query<FailurePlaces>(PLACES_SQL, values)
  return new Map(rows.map((row) => [row.groupId, row]))
}

/** Groups that one transaction changes are locked in the order of their ids. */
const LOCK_SQL = `
SELECT ${COLUMNS} FROM failure_groups g WHERE g.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR g.project_id = $2)
ORDER BY g.id FOR UPDATE`

export async function lockFailureGroups(
  tx: Queryable,
  ids: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, FailureGroupRow>> {
  const { rows } = await tx.query<FailureGroupRow>(LOCK_SQL, [ids, visibleProjectId])
  return new Map(rows.map((row) => [row.id, row]))
}

export interface FailureGroupChange {
  state: FailureGroupState
  note: string | null
  link: string | null
  mutedUntil: Date | null
  by: string
}

const SET_STATE_SQL = `
UPDATE failure_groups SET state = $2::failure_group_state, note = $3, link = $4, muted_until = $5, state_by = $6,
  state_at = reprise_now() WHERE id = $1`

export async function setFailureGroup(tx: Queryable, id: string, change: FailureGroupChange): Promise<void> {
  const { state, note, link, mutedUntil, by } = change
  await tx.query(SET_STATE_SQL, [id, state, note, link, mutedUntil, by])
}

export async function renameFailureGroup(tx: Queryable, id: string, name: string | null): Promise<void> {
  await tx.query('UPDATE failure_groups SET name = $2 WHERE id = $1', [id, name])
}

/** Shows the failures of groups, and of those merged into them, with another one. */
const MERGE_SQL = `
UPDATE failure_groups SET merged_into = $2 WHERE id <> $2 AND (id = ANY($1::uuid[]) OR merged_into = ANY($1::uuid[]))`

export async function mergeFailureGroups(tx: Queryable, ids: readonly string[], into: string): Promise<void> {
  await tx.query(MERGE_SQL, [ids, into])
}

const SPLIT_SQL = 'UPDATE failure_groups SET merged_into = NULL WHERE id = $1 AND merged_into IS NOT NULL'

/** @returns whether the group was merged into another one */
export async function splitFailureGroup(tx: Queryable, id: string): Promise<boolean> {
  return (await tx.query(SPLIT_SQL, [id])).rowCount === 1
}

/** Index: failure_groups_project_id_last_at_idx. */
const CANDIDATES_SQL = `
SELECT g.id, g.project_id AS "projectId", g.masked FROM unnest($1::uuid[]) AS wanted(project_id)
CROSS JOIN LATERAL (
  SELECT g.* FROM failure_groups g WHERE g.project_id = wanted.project_id AND g.merged_into IS NULL
    AND cardinality(g.masked) > 0
  ORDER BY g.last_at DESC LIMIT $2) AS g`

export type MergeCandidate = Pick<FailureGroupRow, 'id' | 'projectId' | 'masked'>

/** Reads, for each project, the groups that occurred last, have lines and are not merged; at most `limit`. */
export async function readMergeCandidates(
  db: Queryable,
  projectIds: readonly string[],
  limit: number,
): Promise<MergeCandidate[]> {
  return (await db.query<MergeCandidate>(CANDIDATES_SQL, [projectIds, limit])).rows
}

const MERGED_SQL = `
SELECT ${COLUMNS} FROM failure_groups g WHERE g.merged_into = ANY($1::uuid[]) ORDER BY g.created_at, g.id`

/** Reads the groups that are merged into these. */
export async function readMergedGroups(db: Queryable, ids: readonly string[]): Promise<FailureGroupRow[]> {
  return (await db.query<FailureGroupRow>(MERGED_SQL, [ids])).rows
}

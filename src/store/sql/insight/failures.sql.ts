import { FAILURE_GROUPS_PER_DAY_MAX } from '../../../domain/limits.ts'
import type { FailureRule } from '../../../domain/insight/fingerprint.ts'
import type { FailureCause, StatusData } from '../../../domain/session/failure.ts'
import type { Queryable } from '../../database.ts'
import { EVENT_POSITION } from '../event/event-data.sql.ts'

/** A failed attempt whose group is to be found. */
export interface DueFailure {
  sessionId: string
  projectId: string
  chainId: string
  name: string
  cause: FailureCause
  exitCode: number | null
  statusData: StatusData | null
  failedAt: Date
  /** The kernel that decided; null if it has none. */
  kernelId: string | null
}

/**
 * Takes failures whose group is to be found, oldest first. Those that another server has taken are skipped, and come
 * back if its transaction is undone. Indexes: failures_due_since_idx, kernels_session_id_role_index_key.
 */
const TAKE_SQL = `
WITH taken AS (
  DELETE FROM failures_due WHERE session_id IN (
    SELECT session_id FROM failures_due ORDER BY since LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING session_id
)
SELECT s.id AS "sessionId", s.project_id AS "projectId", s.chain_id AS "chainId", s.name, s.failure_cause AS cause,
  s.exit_code AS "exitCode", s.status_data AS "statusData", coalesce(s.terminated_at, reprise_now()) AS "failedAt",
  (SELECT k.id FROM kernels k WHERE k.session_id = s.id
    ORDER BY k.role || k.index = coalesce(s.status_data ->> 'kernel', 'main1') DESC, k.role, k.index LIMIT 1) AS "kernelId"
FROM taken t JOIN sessions s ON s.id = t.session_id WHERE s.failure_cause IS NOT NULL ORDER BY s.id`

export async function takeFailures(tx: Queryable, limit: number): Promise<DueFailure[]> {
  return (await tx.query<DueFailure>(TAKE_SQL, [limit])).rows
}

/** Runs of one name in one project. */
export interface WorkName {
  projectId: string
  name: string
}

const USUAL_SQL = `
SELECT u.project_id AS "projectId", u.name, u.hashes::text[] AS hashes FROM usual_lines u
JOIN unnest($1::uuid[], $2::text[]) AS wanted(project_id, name) USING (project_id, name)`

/** Reads the hashes of masked lines that successful runs of these names have printed. */
export async function readUsualLines(
  db: Queryable,
  names: readonly WorkName[],
): Promise<(WorkName & { hashes: string[] })[]> {
  return (await db.query<WorkName & { hashes: string[] }>(USUAL_SQL, columnsOf(names))).rows
}

/**
 * The newest successful runs of names that have not been read: up to $3 of each, and none of a name that was read within
 * the last hour. Index: chains_by_name.
 */
const UNREAD_SQL = `
SELECT wanted.project_id AS "projectId", wanted.name, run.id AS "sessionId", run."kernelId"
FROM unnest($1::uuid[], $2::text[]) AS wanted(project_id, name)
CROSS JOIN LATERAL (
  SELECT c.tail_id AS id, (SELECT k.id FROM kernels k WHERE k.session_id = c.tail_id ORDER BY k.role, k.index LIMIT 1) AS "kernelId"
  FROM chains c WHERE c.project_id = wanted.project_id AND c.state = 'SUCCEEDED' AND NOT c.replica AND c.name = wanted.name
  ORDER BY c.chain_id DESC LIMIT $3
) AS run
WHERE run."kernelId" IS NOT NULL
  AND NOT EXISTS (SELECT FROM usual_lines u WHERE u.project_id = wanted.project_id AND u.name = wanted.name
    AND (u.session_id = run.id OR u.read_at > reprise_now() - interval '1 hour'))`

export interface UnreadRun extends WorkName {
  sessionId: string
  kernelId: string
}

export async function readUnreadRuns(db: Queryable, names: readonly WorkName[], each: number): Promise<UnreadRun[]> {
  return (await db.query<UnreadRun>(UNREAD_SQL, [...columnsOf(names), each])).rows
}

/** Keeps the newest $2 runs of each name. */
const KEEP_USUAL_SQL = `
WITH given AS (
  SELECT * FROM json_to_recordset($1::json) AS g("projectId" uuid, name text, "sessionId" uuid, hashes bigint[])
), added AS (
  INSERT INTO usual_lines (project_id, name, session_id, hashes)
  SELECT "projectId", name, "sessionId", hashes FROM given ON CONFLICT DO NOTHING
)
DELETE FROM usual_lines u USING (SELECT DISTINCT "projectId", name FROM given) AS g
WHERE u.project_id = g."projectId" AND u.name = g.name AND u.session_id NOT IN (
  SELECT kept.session_id FROM usual_lines kept WHERE kept.project_id = u.project_id AND kept.name = u.name
  ORDER BY kept.read_at DESC LIMIT $2)`

export async function keepUsualLines(
  tx: Queryable,
  read: readonly (WorkName & { sessionId: string; hashes: readonly string[] })[],
  each: number,
): Promise<void> {
  if (read.length > 0) await tx.query(KEEP_USUAL_SQL, [JSON.stringify(read), each])
}

function columnsOf(names: readonly WorkName[]): [string[], string[]] {
  return [names.map(({ projectId }) => projectId), names.map(({ name }) => name)]
}

const RULES_SQL = `
SELECT id, failure_rules AS rules FROM projects WHERE id = ANY($1::uuid[]) AND failure_rules <> '[]'`

/** Reads the rules of projects that have any, by project. */
export async function readFailureRules(
  db: Queryable,
  projectIds: readonly string[],
): Promise<Map<string, FailureRule[]>> {
  const { rows } = await db.query<{ id: string; rules: FailureRule[] }>(RULES_SQL, [projectIds])
  return new Map(rows.map(({ id, rules }) => [id, rules]))
}

const LOCK_RULES_SQL = 'SELECT failure_rules AS rules FROM projects WHERE id = $1 FOR NO KEY UPDATE'

/** @returns the rules before */
export async function replaceFailureRules(
  tx: Queryable,
  projectId: string,
  rules: readonly FailureRule[],
): Promise<FailureRule[]> {
  const before = (await tx.query<{ rules: FailureRule[] }>(LOCK_RULES_SQL, [projectId])).rows[0]!
  await tx.query('UPDATE projects SET failure_rules = $2 WHERE id = $1', [projectId, JSON.stringify(rules)])
  return before.rules
}

/** A failed attempt with its fingerprint. */
export interface DescribedFailure {
  sessionId: string
  projectId: string
  chainId: string
  cause: FailureCause
  exitCode: number | null
  failedAt: Date
  fingerprint: string
  /** See `Fingerprint`. */
  former: string | null
  version: number
  title: string
  lines: string[]
  masked: string[]
  rule: string | null
}

/** Notes since when failures are recognised by a version of the masks. */
const VERSION_SQL = `
WITH noted AS (
  INSERT INTO settings (key, value, updated_at) VALUES ('masks.' || $1::int, 'null', reprise_now())
  ON CONFLICT (key) DO NOTHING RETURNING updated_at
)
SELECT coalesce((SELECT updated_at FROM noted), (SELECT updated_at FROM settings WHERE key = 'masks.' || $1::int), reprise_now())
  > reprise_now() - make_interval(secs => $2 / 1000.0) AS recent`

/** Whether failures have been recognised by this version of the masks for less than `withinMs`. */
export async function isRecentVersion(tx: Queryable, version: number, withinMs: number): Promise<boolean> {
  return (await tx.query<{ recent: boolean }>(VERSION_SQL, [version, withinMs])).rows[0]!.recent
}

/**
 * Finds the groups that failures have by the masks before. A fingerprint that has no group of its own gets that group,
 * for good. If new masks no longer tell two groups apart, each keeps its failures while the masks before are in use;
 * then the one that got the new fingerprint first has all of them. Indexes: the primary key of `failure_fingerprints`,
 * failure_groups(project_id, fingerprint).
 */
const FORMER_SQL = `
WITH given AS (
  SELECT DISTINCT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::int[]) AS g(project_id, fingerprint, former, version)
  WHERE NOT EXISTS (SELECT FROM failure_groups o WHERE o.project_id = g.project_id AND o.fingerprint = g.fingerprint)
), former AS (
  SELECT given.*, coalesce(
    (SELECT g.id FROM failure_groups g WHERE g.project_id = given.project_id AND g.fingerprint = given.former),
    (SELECT f.group_id FROM failure_fingerprints f WHERE f.project_id = given.project_id AND f.fingerprint = given.former
      ORDER BY f.since, f.group_id LIMIT 1)) AS group_id
  FROM given
), linked AS (
  INSERT INTO failure_fingerprints (project_id, fingerprint, group_id, version)
  SELECT project_id, fingerprint, group_id, min(version) FROM former WHERE group_id IS NOT NULL
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING
)
SELECT f.project_id AS "projectId", f.fingerprint, f.former, g.fingerprint AS "ofGroup" FROM former f
JOIN failure_groups g ON g.id = coalesce(f.group_id, (SELECT l.group_id FROM failure_fingerprints l
  WHERE l.project_id = f.project_id AND l.fingerprint = f.fingerprint ORDER BY l.since, l.group_id LIMIT 1))`

interface FormerGroup {
  projectId: string
  fingerprint: string
  former: string | null
  ofGroup: string
}

/** Gives failures the fingerprints of the groups that they have by the masks before. */
export async function findFormerGroups(
  tx: Queryable,
  failures: readonly DescribedFailure[],
): Promise<DescribedFailure[]> {
  const values = [
    failures.map(({ projectId }) => projectId),
    failures.map(({ fingerprint }) => fingerprint),
    failures.map(({ former }) => former),
    failures.map(({ version }) => version),
  ]
  const { rows } = await tx.query<FormerGroup>(FORMER_SQL, values)
  const key = ({ projectId, fingerprint, former }: Omit<FormerGroup, 'ofGroup'>) =>
    `${projectId} ${fingerprint} ${former ?? ''}`
  const found = new Map(rows.map((row) => [key(row), row.ofGroup]))
  return failures.map((failure) => ({ ...failure, fingerprint: found.get(key(failure)) ?? failure.fingerprint }))
}

/** The fingerprint of the group that has a project's further failures after too many new groups in a day. */
export const OVERFLOW_FINGERPRINT = 'overflow'

/**
 * Stores failures with their groups. A project gets at most $2 new groups in a day; failures that would need more go to
 * its overflow group, and stay there. Servers that do this at once may together create a batch more. A group that is new, or that occurs again after it was resolved, has an event about
 * the first of these failures. A resolved group only counts as occurring again by a failure after that. Locks: groups in
 * the order of their fingerprints.
 */
const STORE_SQL = `
WITH given AS (
  SELECT * FROM json_to_recordset($1::json) AS i("sessionId" uuid, "projectId" uuid, "chainId" uuid, cause failure_cause,
    "exitCode" int, "failedAt" timestamptz, fingerprint text, version int, title text, lines text[], masked text[], rule text)
), fresh AS (
  SELECT "projectId", fingerprint, row_number() OVER (PARTITION BY "projectId" ORDER BY min("failedAt"), fingerprint) AS place
  FROM given WHERE NOT EXISTS (
    SELECT FROM failure_groups g WHERE g.project_id = "projectId" AND g.fingerprint = given.fingerprint)
  GROUP BY "projectId", fingerprint
), room AS (
  SELECT "projectId", $2::int - (SELECT count(*) FROM failure_groups g
    WHERE g.project_id = "projectId" AND g.created_at > reprise_now() - interval '1 day') AS places
  FROM (SELECT DISTINCT "projectId" FROM fresh) AS projects
), input AS (
  SELECT "sessionId", "projectId", "chainId", "failedAt", version,
    CASE WHEN fits THEN fingerprint ELSE '${OVERFLOW_FINGERPRINT}' END AS fingerprint,
    CASE WHEN fits THEN cause END AS cause, CASE WHEN fits THEN "exitCode" END AS "exitCode",
    CASE WHEN fits THEN title ELSE 'further kinds of failures' END AS title,
    CASE WHEN fits THEN lines ELSE '{}' END AS lines, CASE WHEN fits THEN masked ELSE '{}' END AS masked,
    CASE WHEN fits THEN rule END AS rule
  FROM (SELECT given.*, coalesce(place <= places, true) AS fits FROM given
    LEFT JOIN fresh USING ("projectId", fingerprint) LEFT JOIN room USING ("projectId")) AS placed
), firsts AS (
  SELECT DISTINCT ON ("projectId", fingerprint) *, max("failedAt") OVER (PARTITION BY "projectId", fingerprint) AS last_at
  FROM input ORDER BY "projectId", fingerprint, "failedAt"
), groups AS (
  INSERT INTO failure_groups AS g (id, project_id, fingerprint, version, title, cause, exit_code, lines, masked, rule, created_at, last_at)
  SELECT gen_random_uuid(), "projectId", fingerprint, version, title, cause, "exitCode", lines, masked, rule, "failedAt", last_at
  FROM firsts ORDER BY "projectId", fingerprint
  ON CONFLICT (project_id, fingerprint) DO UPDATE SET last_at = greatest(g.last_at, EXCLUDED.last_at),
    regressed_at = CASE WHEN g.state = 'RESOLVED' AND EXCLUDED.last_at > g.state_at THEN EXCLUDED.last_at ELSE g.regressed_at END,
    state = CASE WHEN g.state = 'RESOLVED' AND EXCLUDED.last_at > g.state_at THEN 'OPEN' ELSE g.state END
  RETURNING g.id, g.project_id, g.fingerprint, g.title, g.name, g.xmax = 0 AS is_new, g.regressed_at
), stored AS (
  INSERT INTO failures (session_id, project_id, chain_id, group_id, failed_at)
  SELECT i."sessionId", i."projectId", i."chainId", g.id, i."failedAt"
  FROM input i JOIN groups g ON g.project_id = i."projectId" AND g.fingerprint = i.fingerprint
  ON CONFLICT DO NOTHING
), events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT (SELECT ${EVENT_POSITION} FROM sessions s WHERE s.id = f."sessionId"),
    CASE WHEN g.is_new THEN 'failure_group.new' ELSE 'failure_group.regressed' END, f."sessionId", f."chainId", f."projectId",
    jsonb_build_object('failureGroupId', g.id, 'reason', coalesce(g.name, g.title), 'cause', f.cause)
  FROM firsts f JOIN groups g ON g.project_id = f."projectId" AND g.fingerprint = f.fingerprint
  WHERE g.is_new OR g.regressed_at = f.last_at
)
SELECT count(*) FILTER (WHERE is_new)::int AS new FROM groups`

/** @returns the number of groups that are new */
export async function storeFailures(tx: Queryable, failures: readonly DescribedFailure[]): Promise<number> {
  if (failures.length === 0) return 0
  const { rows } = await tx.query<{ new: number }>(STORE_SQL, [JSON.stringify(failures), FAILURE_GROUPS_PER_DAY_MAX])
  return rows[0]!.new
}

import type { GroupTypes } from '../../../domain/session/session-spec.ts'
import { keepsPlan, type Queryable } from '../../database.ts'

/** The facts that are needed to create sessions in a project. */
export interface ProjectScope {
  id: string
  name: string
  retryDefaults: unknown
  domainRetryDefaults: unknown
  clusterRetryDefaults: unknown
}

const PROJECTS_SQL = keepsPlan(`
SELECT p.id, p.name, p.retry_defaults AS "retryDefaults", d.retry_defaults AS "domainRetryDefaults",
  (SELECT value FROM settings WHERE key = 'retry-defaults') AS "clusterRetryDefaults"
FROM projects p JOIN domains d ON d.id = p.domain_id
WHERE p.name = ANY($1::text[]) AND ($2::uuid IS NULL OR p.id = $2)`)

/** Reads projects by name; one that the viewer may not see is missing. */
export async function readProjectScopes(
  db: Queryable,
  names: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, ProjectScope>> {
  const { rows } = await db.query<ProjectScope>(PROJECTS_SQL, [names, visibleProjectId])
  return new Map(rows.map((row) => [row.name, row]))
}

const GROUPS_SQL = keepsPlan(`
SELECT g.name, to_json(g.allowed_session_types) AS allowed, g.allowed_executor_options AS "executorOptions",
  g.stop_grace_max_ms / 1000.0::float8 AS "stopGraceMax",
  NOT EXISTS (SELECT FROM agents a WHERE a.resource_group = g.name AND a.ports IS NOT FALSE AND a.status <> 'TERMINATED')
    AND EXISTS (SELECT FROM agents a WHERE a.resource_group = g.name AND a.status <> 'TERMINATED') AS "isPortless"
FROM resource_groups g WHERE g.name = ANY($1::text[]) AND g.deleted_at IS NULL`)

/** The session types and executor options that a resource group allows. */
export interface GroupScope extends GroupTypes {
  /** Keys of the options that sessions may set. */
  executorOptions: string[]
  /** In seconds. */
  stopGraceMax: number
}

export async function readGroupScopes(db: Queryable, names: readonly string[]): Promise<Map<string, GroupScope>> {
  const { rows } = await db.query<GroupScope & { name: string }>(GROUPS_SQL, [names])
  return new Map(rows.map(({ name, ...scope }) => [name, scope]))
}

const EXISTING_SQL = `
SELECT s.id, s.project_id AS "projectId", s.creation_id AS "creationId", s.creation_digest AS "creationDigest"
FROM unnest($1::uuid[], $2::text[]) AS i(project_id, creation_id)
JOIN sessions s ON s.project_id = i.project_id AND s.creation_id = i.creation_id`

export interface KnownSession {
  id: string
  /** Null for sessions whose input was not recorded. */
  creationDigest: string | null
}

/** Reads sessions by `<project id>/<creation id>`. */
export async function readByCreationId(
  db: Queryable,
  keys: readonly { projectId: string; creationId: string }[],
): Promise<Map<string, KnownSession>> {
  if (keys.length === 0) return new Map()
  const values = [keys.map((key) => key.projectId), keys.map((key) => key.creationId)]
  const { rows } = await db.query<KnownSession & { projectId: string; creationId: string }>(EXISTING_SQL, values)
  return new Map(rows.map((row) => [`${row.projectId}/${row.creationId}`, row]))
}

/**
 * The state of the chains that session `s` depends on: `total` and `open` are counts, `failed` is the last session of a
 * chain that has ended without success. `awaited` is the name of a group for which its own still waits; only first
 * attempts wait for groups.
 */
export const DEPENDENCIES = `(
  SELECT count(*) AS total,
    count(*) FILTER (WHERE c.state <> 'SUCCEEDED') AS open,
    (array_agg(c.tail_id::text) FILTER (WHERE c.state <> 'SUCCEEDED' AND chain_is_over(c.state)))[1] AS failed,
    CASE WHEN s.group_id IS NOT NULL AND s.attempt = 1 THEN (SELECT u.name FROM group_dependencies gd
      JOIN session_groups u ON u.id = gd.depends_on WHERE gd.group_id = s.group_id AND gd.met IS DISTINCT FROM true
      ORDER BY u.id LIMIT 1) END AS awaited
  FROM session_dependencies sd JOIN chains c ON c.chain_id = sd.chain_id
  WHERE sd.session_id = s.id
)`

/** A session that waits, or waited, for a chain. */
export interface DependentRow {
  dependsOn: string
  id: string
}

/** The first dependents of each chain, oldest first. Index: session_dependencies(chain_id). */
const DEPENDENTS_SQL = `
SELECT page.* FROM unnest($1::uuid[]) AS wanted(id), LATERAL (
  SELECT d.chain_id AS "dependsOn", s.id FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
  WHERE d.chain_id = wanted.id AND s.attempt = 1 AND ($2::uuid IS NULL OR s.project_id = $2)
  ORDER BY s.id LIMIT $3) AS page`

/** Reads first attempts that depend on these chains, at most `limit` for each. */
export async function readDependents(
  db: Queryable,
  chainIds: readonly string[],
  visibleProjectId: string | null,
  limit: number,
): Promise<DependentRow[]> {
  return (await db.query<DependentRow>(DEPENDENTS_SQL, [chainIds, visibleProjectId, limit])).rows
}

/**
 * Makes sessions due at once that pause because they depend on one of these chains. A session that was already
 * rescheduled pauses for another reason and is not changed. A session missed here, because another transaction has
 * locked it, becomes due after its own pause. Index: session_dependencies_chain_id. Locks: pending sessions in id
 * order.
 */
const WAKE_DEPENDENTS_SQL = keepsPlan(`
WITH dependents AS (
  SELECT s.id FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
  WHERE d.chain_id = ANY($1) AND s.status = 'PENDING' AND s.next_try_at > reprise_now() AND s.reschedules = 0
  ORDER BY s.id FOR UPDATE OF s SKIP LOCKED
)
UPDATE sessions s SET next_try_at = reprise_now() FROM dependents WHERE s.id = dependents.id`)

export async function wakeDependents(tx: Queryable, chainIds: readonly string[]): Promise<void> {
  if (chainIds.length > 0) await tx.query(WAKE_DEPENDENTS_SQL, [chainIds])
}

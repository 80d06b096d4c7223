import type { GroupTypes } from '../../../domain/session/group-types.ts'
import type { Queryable } from '../../database.ts'

/** What is needed to create sessions in a project. */
export interface ProjectScope {
  id: string
  name: string
  retryDefaults: unknown
  domainRetryDefaults: unknown
  clusterRetryDefaults: unknown
}

const PROJECTS_SQL = `
SELECT p.id, p.name, p.retry_defaults AS "retryDefaults", d.retry_defaults AS "domainRetryDefaults",
  (SELECT value FROM settings WHERE key = 'retry-defaults') AS "clusterRetryDefaults"
FROM projects p JOIN domains d ON d.id = p.domain_id
WHERE p.name = ANY($1::text[]) AND ($2::uuid IS NULL OR p.id = $2)`

/** Projects by name; one that the viewer may not see is missing. */
export async function readProjectScopes(
  db: Queryable,
  names: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, ProjectScope>> {
  const { rows } = await db.query<ProjectScope>(PROJECTS_SQL, [names, visibleProjectId])
  return new Map(rows.map((row) => [row.name, row]))
}

const GROUPS_SQL = `
SELECT g.name, to_json(g.allowed_session_types) AS allowed, g.allowed_executor_options AS "executorOptions",
  NOT EXISTS (SELECT FROM agents a WHERE a.resource_group = g.name AND a.ports IS NOT FALSE AND a.status <> 'TERMINATED')
    AND EXISTS (SELECT FROM agents a WHERE a.resource_group = g.name AND a.status <> 'TERMINATED') AS "isPortless"
FROM resource_groups g WHERE g.name = ANY($1::text[]) AND g.deleted_at IS NULL`

/** What sessions that are created in a group may be and have. */
export interface GroupScope extends GroupTypes {
  /** Keys of those that sessions may set. */
  executorOptions: string[]
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

/** By `<project id>/<creation id>`. */
export async function readByCreationId(
  db: Queryable,
  keys: readonly { projectId: string; creationId: string }[],
): Promise<Map<string, KnownSession>> {
  if (keys.length === 0) return new Map()
  const values = [keys.map((key) => key.projectId), keys.map((key) => key.creationId)]
  const { rows } = await db.query<KnownSession & { projectId: string; creationId: string }>(EXISTING_SQL, values)
  return new Map(rows.map((row) => [`${row.projectId}/${row.creationId}`, row]))
}

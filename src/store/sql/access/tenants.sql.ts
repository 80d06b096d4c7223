import type { Queryable } from '../../database.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from './audit.sql.ts'

/**
 * Statements that create tenants and members. Each function writes its own audit entry; if it changes nothing, it
 * writes none and returns undefined or false.
 */

const DOMAIN_SQL = `
WITH added AS (
  INSERT INTO domains (id, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING id
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, details)
  SELECT ${actorValues('$3')}, 'domain.create', jsonb_build_object('domainId', id, 'name', $2::text) FROM added
)
SELECT id FROM added`

/** A deleted user of this name comes back, as the owner of its sessions, but without memberships and valid tokens. */
const USER_SQL = `
WITH added AS (
  INSERT INTO users (id, name) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET deleted_at = NULL WHERE users.deleted_at IS NOT NULL RETURNING id
), memberships AS (
  DELETE FROM project_members m USING added a WHERE m.user_id = a.id
), tokens AS (
  UPDATE api_tokens t SET revoked_at = reprise_now() FROM added a WHERE t.user_id = a.id AND t.revoked_at IS NULL
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, details)
  SELECT ${actorValues('$3')}, 'user.create', jsonb_build_object('userId', id, 'name', $2::text) FROM added
)
SELECT id FROM added`

interface NewName {
  id: string
  name: string
  actor: Actor
}

/** Returns false if the name is taken. */
export async function addDomain(db: Queryable, { id, name, actor }: NewName): Promise<boolean> {
  return (await db.query(DOMAIN_SQL, [id, name, JSON.stringify(actor)])).rows.length > 0
}

/** Returns the user's id, which is not the given one if a deleted user comes back; undefined if the name is taken. */
export async function addUser(db: Queryable, { id, name, actor }: NewName): Promise<string | undefined> {
  return (await db.query<{ id: string }>(USER_SQL, [id, name, JSON.stringify(actor)])).rows[0]?.id
}

const TABLES = { domain: 'domains', project: 'projects', user: 'users' } as const

/** Returns the id of the object that has this name. */
export async function readIdByName(
  db: Queryable,
  kind: keyof typeof TABLES,
  name: string,
): Promise<string | undefined> {
  return (await db.query<{ id: string }>(`SELECT id FROM ${TABLES[kind]} WHERE name = $1`, [name])).rows[0]?.id
}

const DELETE_USER_SQL = `
WITH deleted AS (
  UPDATE users SET deleted_at = reprise_now() WHERE name = $1 AND deleted_at IS NULL RETURNING id
), memberships AS (
  DELETE FROM project_members m USING deleted d WHERE m.user_id = d.id
), tokens AS (
  UPDATE api_tokens t SET revoked_at = reprise_now() FROM deleted d WHERE t.user_id = d.id AND t.revoked_at IS NULL
  RETURNING t.id
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, details)
  SELECT ${actorValues('$2')}, 'user.delete',
    jsonb_build_object('userId', id, 'name', $1::text, 'tokens', (SELECT count(*) FROM tokens)) FROM deleted
)
SELECT id FROM deleted`

/**
 * Deletes a user with its memberships, and revokes its tokens. A token or a membership that is added at the same time
 * has no effect: tokens of a deleted user are not valid. Returns undefined if there is no such user.
 */
export async function deleteUserRow(db: Queryable, name: string, actor: Actor): Promise<string | undefined> {
  return (await db.query<{ id: string }>(DELETE_USER_SQL, [name, JSON.stringify(actor)])).rows[0]?.id
}

const UPDATE_PROJECT_SQL = `
WITH before AS (
  SELECT id, members_end_all, output_keep_days, coalesce($2::boolean, members_end_all) AS new_end_all,
    CASE WHEN $5 THEN $6::float8 ELSE output_keep_days END AS new_keep_days
  FROM projects WHERE name = $1 AND ($3::uuid IS NULL OR id = $3) FOR NO KEY UPDATE
), written AS (
  UPDATE projects p SET members_end_all = b.new_end_all, output_keep_days = b.new_keep_days FROM before b WHERE p.id = b.id
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$4')}, 'project.update', id, CASE WHEN members_end_all <> new_end_all
      THEN jsonb_build_object('membersEndAll', jsonb_build_object('before', members_end_all, 'after', new_end_all)) ELSE '{}' END
    || CASE WHEN output_keep_days IS DISTINCT FROM new_keep_days
      THEN jsonb_build_object('outputKeepDays', jsonb_build_object('before', output_keep_days, 'after', new_keep_days)) ELSE '{}' END
  FROM before WHERE members_end_all <> new_end_all OR output_keep_days IS DISTINCT FROM new_keep_days
)
SELECT id FROM before`

export interface ProjectChange {
  name: string
  /** Missing if it stays. */
  membersEndAll?: boolean | null | undefined
  /** Null for the server's setting; missing if it stays. */
  outputKeepDays?: number | null | undefined
}

/** Returns the project's id; undefined if the viewer sees no such project. */
export async function updateProjectRow(
  db: Queryable,
  { name, membersEndAll = null, outputKeepDays }: ProjectChange,
  { visibleProjectId, actor }: { visibleProjectId: string | null; actor: Actor },
): Promise<string | undefined> {
  const values: unknown[] = [name, membersEndAll, visibleProjectId, JSON.stringify(actor)]
  values.push(outputKeepDays !== undefined, outputKeepDays ?? null)
  return (await db.query<{ id: string }>(UPDATE_PROJECT_SQL, values)).rows[0]?.id
}

const foreignSql = (table: 'sessions' | 'deployments' | 'session_groups') => `
SELECT s.id, u.name AS owner, p.name AS project
FROM ${table} s JOIN projects p ON p.id = s.project_id LEFT JOIN users u ON u.id = s.user_id
WHERE s.id = ANY($1::uuid[]) AND s.project_id = $2 AND s.user_id IS DISTINCT FROM $3 AND NOT p.members_end_all`

export interface ForeignWork {
  id: string
  /** The name of its user; null if it has none. */
  owner: string | null
  project: string
}

/** Reads which of these sessions or deployments of a project are not of this user, where members end only their own. */
export async function readForeignWork(
  db: Queryable,
  table: 'sessions' | 'deployments' | 'session_groups',
  { ids, projectId, userId }: { ids: readonly string[]; projectId: string; userId: string | null },
): Promise<ForeignWork[]> {
  return (await db.query<ForeignWork>(foreignSql(table), [ids, projectId, userId])).rows
}

const PROJECT_SQL = `
WITH domain AS (
  SELECT id FROM domains WHERE name = $4
), added AS (
  INSERT INTO projects (id, domain_id, name) SELECT $1, id, $2 FROM domain ON CONFLICT (name) DO NOTHING RETURNING id
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$3')}, 'project.create', id, jsonb_build_object('name', $2::text, 'domain', $4::text) FROM added
)
SELECT EXISTS (SELECT FROM domain) AS "domainFound", EXISTS (SELECT FROM added) AS added`

export async function addProject(
  db: Queryable,
  { id, name, actor, domain }: NewName & { domain: string },
): Promise<{ domainFound: boolean; added: boolean }> {
  const { rows } = await db.query<{ domainFound: boolean; added: boolean }>(PROJECT_SQL, [
    id,
    name,
    JSON.stringify(actor),
    domain,
  ])
  return rows[0]!
}

const VISIBLE_PROJECTS_SQL = 'SELECT name FROM projects WHERE $1::uuid IS NULL OR id = $1 ORDER BY name LIMIT $2'

/** Names of projects that a viewer sees, at most `limit`. */
export async function readProjectNames(
  db: Queryable,
  visibleProjectId: string | null,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(VISIBLE_PROJECTS_SQL, [visibleProjectId, limit])
  return rows.map(({ name }) => name)
}

/** Index: projects(id), project_members(project_id, user_id). */
const OWN_PROJECTS_SQL = `
SELECT name FROM projects p
WHERE p.id = $1 OR $1::uuid IS NULL AND p.id IN (SELECT project_id FROM project_members WHERE user_id = $2)
ORDER BY name`

/** Names of the only project that a token sees or, if it sees all, of those that its user is a member of. */
export async function readOwnProjects(
  db: Queryable,
  { projectId, userId }: { projectId: string | null; userId: string | null },
): Promise<string[]> {
  if (projectId === null && userId === null) return []
  const { rows } = await db.query<{ name: string }>(OWN_PROJECTS_SQL, [projectId, userId])
  return rows.map(({ name }) => name)
}

/** A null role removes the member. */
const MEMBER_SQL = `
WITH found AS (
  SELECT (SELECT id FROM projects WHERE name = $1) AS project_id, (SELECT id FROM users WHERE name = $2 AND deleted_at IS NULL) AS user_id
), there AS (
  SELECT m.role FROM project_members m JOIN found USING (project_id, user_id)
), written AS (
  INSERT INTO project_members (project_id, user_id, role)
  SELECT project_id, user_id, $3::token_role FROM found
  WHERE project_id IS NOT NULL AND user_id IS NOT NULL AND $3::token_role IS NOT NULL
  ON CONFLICT (project_id, user_id) DO UPDATE SET role = EXCLUDED.role
), removed AS (
  DELETE FROM project_members m USING found f
  WHERE m.project_id = f.project_id AND m.user_id = f.user_id AND $3::token_role IS NULL
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$4')}, 'project.set_member', project_id,
    jsonb_build_object('user', $2::text, 'before', (SELECT role FROM there), 'after', $3::token_role)
  FROM found WHERE project_id IS NOT NULL AND user_id IS NOT NULL
    AND (SELECT role FROM there) IS DISTINCT FROM $3::token_role
)
SELECT project_id AS "projectId", user_id AS "userId" FROM found`

export interface MemberChange {
  project: string
  user: string
  role: string | null
  actor: Actor
}

/** Returns the ids of the project and the user; null for one that does not exist. */
export async function setMember(
  db: Queryable,
  { project, user, role, actor }: MemberChange,
): Promise<{ projectId: string | null; userId: string | null }> {
  const { rows } = await db.query<{ projectId: string | null; userId: string | null }>(MEMBER_SQL, [
    project,
    user,
    role,
    JSON.stringify(actor),
  ])
  return rows[0]!
}

import type { GroupCondition, GroupOutcome } from '../../../domain/session/session-group.ts'
import type { Queryable } from '../../database.ts'

/** A group that another one waits for. */
export interface AwaitedGroup {
  id: string
  projectId: string
  name: string
  outcome: GroupOutcome | null
  hasEnded: boolean
}

/** Until the transaction ends, none of these groups can end. Locks: groups in id order. */
const HOLD_SQL = `
SELECT g.id, g.project_id AS "projectId", g.name, g.outcome, g.ended_at IS NOT NULL AS "hasEnded" FROM session_groups g
WHERE g.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR g.project_id = $2) ORDER BY g.id FOR SHARE`

/** Reads groups, and keeps them from ending until the transaction does. */
export async function holdGroups(
  tx: Queryable,
  ids: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, AwaitedGroup>> {
  if (ids.length === 0) return new Map()
  const { rows } = await tx.query<AwaitedGroup>(HOLD_SQL, [ids, visibleProjectId])
  return new Map(rows.map((row) => [row.id, row]))
}

export interface NewDependency {
  groupId: string
  condition: GroupCondition
  /** Null until that is certain. */
  met: boolean | null
}

const INSERT_SQL = `
INSERT INTO group_dependencies (group_id, depends_on, condition, met, met_at)
SELECT $1, d."groupId", d.condition, d.met, CASE WHEN d.met IS NOT NULL THEN reprise_now() END
FROM json_to_recordset($2::json) AS d("groupId" uuid, condition group_condition, met boolean)`

export async function insertDependencies(
  tx: Queryable,
  groupId: string,
  dependencies: readonly NewDependency[],
): Promise<void> {
  if (dependencies.length > 0) await tx.query(INSERT_SQL, [groupId, JSON.stringify(dependencies)])
}

/** A dependency of a group, as it is shown. */
export interface DependencyRow {
  dependent: string
  groupId: string
  condition: GroupCondition
  met: boolean | null
}

const READ_SQL = `
SELECT d.group_id AS dependent, d.depends_on AS "groupId", d.condition, d.met FROM group_dependencies d
WHERE d.group_id = ANY($1::uuid[]) ORDER BY d.depends_on`

export async function readDependencies(db: Queryable, groupIds: readonly string[]): Promise<DependencyRow[]> {
  return (await db.query<DependencyRow>(READ_SQL, [groupIds])).rows
}

/**
 * Groups whose dependencies are all met are to be released. Those for which one cannot be met any more are judged
 * again. Index: group_dependencies_depends_on_idx. Locks: dependent groups.
 */
const RESOLVE_SQL = `
WITH resolved AS (
  UPDATE group_dependencies d SET met = d.condition = 'ENDED' OR g.outcome = 'SUCCEEDED', met_at = reprise_now()
  FROM session_groups g
  WHERE g.id = d.depends_on AND d.depends_on = ANY($1::uuid[]) AND d.met IS NULL
  RETURNING d.group_id, d.depends_on, d.met
), released AS (
  UPDATE session_groups g SET release_due = true
  WHERE g.id IN (SELECT group_id FROM resolved WHERE met) AND NOT EXISTS (SELECT FROM group_dependencies d
    WHERE d.group_id = g.id AND d.met IS DISTINCT FROM true
      AND NOT EXISTS (SELECT FROM resolved r WHERE r.group_id = d.group_id AND r.depends_on = d.depends_on AND r.met))
  RETURNING g.id
)
INSERT INTO group_changes (group_id) SELECT DISTINCT group_id FROM resolved WHERE NOT met`

/** Settles what depends on groups that have just ended, in the transaction that ends them. */
export async function resolveDependents(tx: Queryable, endedIds: readonly string[]): Promise<void> {
  if (endedIds.length > 0) await tx.query(RESOLVE_SQL, [endedIds])
}

/** Index: session_groups_release_due. */
const DUE_SQL = `
SELECT id FROM session_groups WHERE release_due ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`

/**
 * Makes members due that pause because their group waited. Members that were rescheduled pause for another reason.
 * Indexes: chains_of_groups_by_state, primary key of sessions. Locks: pending sessions.
 */
const RELEASE_SQL = `
WITH done AS (
  UPDATE session_groups SET release_due = false WHERE id = ANY($1::uuid[])
), members AS (
  SELECT s.id FROM chains c JOIN sessions s ON s.id = c.tail_id
  WHERE c.group_id = ANY($1::uuid[]) AND c.state = 'LIVE' AND s.status = 'PENDING' AND s.reschedules = 0
    AND s.next_try_at > reprise_now()
  ORDER BY s.id FOR UPDATE OF s
)
UPDATE sessions s SET next_try_at = reprise_now() FROM members m WHERE s.id = m.id`

/** Releases the members of groups whose dependencies are met. @returns the number of groups */
export async function releaseGroups(tx: Queryable, limit: number): Promise<number> {
  const { rows } = await tx.query<{ id: string }>(DUE_SQL, [limit])
  if (rows.length > 0) await tx.query(RELEASE_SQL, [rows.map(({ id }) => id)])
  return rows.length
}

import type { GroupFacts, GroupOutcome, GroupRest, GroupVerdict } from '../../../domain/session/session-group.ts'
import { GROUP_FAILURES_NAMED_MAX } from '../../../domain/limits.ts'
import { keepsPlan, type Queryable } from '../../database.ts'

/** A group to be created. */
export interface NewGroup {
  id: string
  projectId: string
  userId: string | null
  key: string | null
  name: string
  isOpen: boolean
  creationDigest: string | null
  maxFailed: number | null
  maxFailedPercent: number | null
  minSucceeded: number | null
  maxRunning: number | null
  onFailure: GroupRest
  createdBy: string
}

const INSERT_SQL = `
INSERT INTO session_groups (id, project_id, user_id, key, name, is_open, creation_digest, max_failed, max_failed_percent,
  min_succeeded, max_running, on_failure, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (project_id, key) DO NOTHING`

/** @returns false if the project has a group with this key */
export async function insertGroup(tx: Queryable, group: NewGroup): Promise<boolean> {
  const { id, projectId, userId, key, name, isOpen, creationDigest, maxFailed, maxFailedPercent } = group
  const { minSucceeded, maxRunning, onFailure, createdBy } = group
  const limits = [maxFailed, maxFailedPercent, minSucceeded, maxRunning, onFailure]
  const values = [id, projectId, userId, key, name, isOpen, creationDigest, ...limits, createdBy]
  return (await tx.query(INSERT_SQL, values)).rowCount === 1
}

/** A group as it is shown. */
export interface GroupRow extends GroupFacts {
  id: string
  projectId: string
  userId: string | null
  key: string | null
  name: string
  maxRunning: number | null
  onFailure: GroupRest
  creationDigest: string | null
  epoch: number
  outcome: GroupOutcome | null
  reason: string | null
  createdBy: string | null
  createdAt: Date
  endedAt: Date | null
}

/** Counts of a group `g` with its changes that have not been added yet. Index: group_changes(group_id). */
const COUNTS = `(SELECT json_build_object('total', g.total, 'live', g.live + coalesce(sum(c.live), 0),
    'waiting', g.waiting + coalesce(sum(c.waiting), 0), 'succeeded', g.succeeded + coalesce(sum(c.succeeded), 0),
    'failed', g.failed + coalesce(sum(c.failed), 0), 'cancelled', g.cancelled + coalesce(sum(c.cancelled), 0))
  FROM group_changes c WHERE c.group_id = g.id) AS counts`

const COLUMNS = `g.id, g.project_id AS "projectId", g.user_id AS "userId", g.key, g.name, g.is_open AS "isOpen",
  g.creation_digest AS "creationDigest", g.max_failed AS "maxFailed", g.max_failed_percent AS "maxFailedPercent",
  g.min_succeeded AS "minSucceeded", g.max_running AS "maxRunning", g.on_failure AS "onFailure", g.epoch, g.outcome,
  g.reason, (SELECT u.name FROM group_dependencies d JOIN session_groups u ON u.id = d.depends_on
    WHERE d.group_id = g.id AND NOT d.met LIMIT 1) AS "dependencyFailed", g.cancelled_by AS "cancelledBy", g.created_by AS "createdBy", g.created_at AS "createdAt",
  g.ended_at AS "endedAt", ${COUNTS}`

const READ_SQL = `
SELECT ${COLUMNS} FROM session_groups g WHERE g.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR g.project_id = $2)`

/** Reads groups by id, as far as they belong to the project; null for any project. */
export async function readGroups(
  db: Queryable,
  ids: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, GroupRow>> {
  const { rows } = await db.query<GroupRow>(READ_SQL, [ids, visibleProjectId])
  return new Map(rows.map((row) => [row.id, row]))
}

const ENDED_SQL = 'SELECT id FROM session_groups WHERE id = ANY($1::uuid[]) AND ended_at IS NOT NULL'

/** Returns those of these groups that have ended. */
export async function readEndedGroups(db: Queryable, ids: readonly string[]): Promise<string[]> {
  return (await db.query<{ id: string }>(ENDED_SQL, [ids])).rows.map(({ id }) => id)
}

const BY_KEY_SQL = `
SELECT ${COLUMNS} FROM session_groups g JOIN projects p ON p.id = g.project_id
WHERE g.key = $1 AND p.name = $2 AND ($3::uuid IS NULL OR g.project_id = $3)`

export async function readGroupByKey(
  db: Queryable,
  key: string,
  { project, visibleProjectId }: { project: string; visibleProjectId: string | null },
): Promise<GroupRow | undefined> {
  return (await db.query<GroupRow>(BY_KEY_SQL, [key, project, visibleProjectId])).rows[0]
}

/** Conditions on groups; all must match. */
export interface GroupConditions {
  visibleProjectId: string | null
  project: string | null
  /** The beginning of the name or of the key. */
  search: string | null
  /** Whether the groups have ended. */
  ended: boolean | null
}

const MATCHES = `($1::uuid IS NULL OR g.project_id = $1)
  AND ($2::text IS NULL OR g.project_id = (SELECT p.id FROM projects p WHERE p.name = $2))
  AND ($3::text IS NULL OR starts_with(g.name, $3) OR starts_with(g.key, $3))
  AND ($4::boolean IS NULL OR (g.ended_at IS NOT NULL) = $4)`

/** Index: session_groups(project_id, created_at, id), or (created_at, id). */
const LIST_SQL = `
SELECT ${COLUMNS} FROM session_groups g
WHERE ${MATCHES} AND ($5::timestamptz IS NULL OR (g.created_at, g.id) < ($5, $6::uuid))
ORDER BY g.created_at DESC, g.id DESC LIMIT $7`

/** Reads a page of groups, newest first, after a position. */
export async function listGroups(
  db: Queryable,
  { visibleProjectId, project, search, ended }: GroupConditions,
  page: { after: { createdAt: string; id: string } | null; limit: number },
): Promise<GroupRow[]> {
  const values = [visibleProjectId, project, search, ended, page.after?.createdAt, page.after?.id, page.limit]
  return (await db.query<GroupRow>(LIST_SQL, values)).rows
}

const COUNT_SQL = `SELECT count(*)::int AS count FROM (SELECT FROM session_groups g WHERE ${MATCHES} LIMIT $5) AS found`

export async function countGroups(db: Queryable, conditions: GroupConditions, most: number): Promise<number> {
  const { visibleProjectId, project, search, ended } = conditions
  const { rows } = await db.query<{ count: number }>(COUNT_SQL, [visibleProjectId, project, search, ended, most])
  return rows[0]!.count
}

/**
 * Members of live groups whose newest attempt is PENDING, so that what is left of `live` runs. Reads the live sessions
 * of the groups' projects, of which there are as many as agents run: index sessions_live_of_project.
 */
const RUNNING_SQL = `
SELECT s.group_id AS id, count(*)::int AS running FROM sessions s
WHERE s.group_id = ANY($1::uuid[]) AND s.project_id = ANY($2::uuid[])
  AND s.status IN ('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING')
GROUP BY s.group_id`

/** Counts the members of groups that run, by the group's id. */
export async function countRunning(
  db: Queryable,
  groups: readonly Pick<GroupRow, 'id' | 'projectId'>[],
): Promise<Map<string, number>> {
  if (groups.length === 0) return new Map()
  const values = [groups.map(({ id }) => id), [...new Set(groups.map(({ projectId }) => projectId))]]
  const { rows } = await db.query<{ id: string; running: number }>(RUNNING_SQL, values)
  return new Map(rows.map(({ id, running }) => [id, running]))
}

const LOCK_SQL = `
SELECT ${COLUMNS} FROM session_groups g WHERE g.id = $1 AND ($2::uuid IS NULL OR g.project_id = $2) FOR UPDATE`

/** Locks a group for one that adds members or cancels it; undefined if the viewer sees no such group. */
export async function lockGroup(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<GroupRow | undefined> {
  return (await tx.query<GroupRow>(LOCK_SQL, [id, visibleProjectId])).rows[0]
}

/** A row without counts makes settle-groups judge the group. */
const JUDGE_SQL = 'INSERT INTO group_changes (group_id) VALUES ($1)'

const GROW_SQL = 'UPDATE session_groups SET total = total + $2, is_open = $3 WHERE id = $1'

/** Counts new members, which the same transaction inserts, and closes the group unless it stays open. */
export async function growGroup(
  tx: Queryable,
  id: string,
  { by, isOpen }: { by: number; isOpen: boolean },
): Promise<void> {
  await tx.query(GROW_SQL, [id, by, isOpen])
  await tx.query(JUDGE_SQL, [id])
}

const CANCEL_SQL = `
UPDATE session_groups SET cancelled_by = $2, is_open = false WHERE id = $1 AND ended_at IS NULL AND cancelled_by IS NULL`

export async function cancelGroup(tx: Queryable, id: string, name: string): Promise<void> {
  await tx.query(CANCEL_SQL, [id, name])
  await tx.query(JUDGE_SQL, [id])
}

const MEMBERS_SQL = `
SELECT c.chain_id AS "chainId", c.group_index AS index FROM chains c
WHERE c.group_id = $1 AND c.group_index = ANY($2::int[])`

/** Returns which of these indexes have a member. Index: chains_of_groups. */
export async function readMembers(
  db: Queryable,
  groupId: string,
  indexes: readonly number[],
): Promise<Map<number, string>> {
  const { rows } = await db.query<{ chainId: string; index: number }>(MEMBERS_SQL, [groupId, indexes])
  return new Map(rows.map(({ chainId, index }) => [index, chainId]))
}

const LAST_INDEX_SQL = 'SELECT max(group_index) AS last FROM chains WHERE group_id = $1'

/** Returns the greatest index of the group's members; null without members. Index: chains_of_groups. */
export async function readLastIndex(db: Queryable, groupId: string): Promise<number | null> {
  return (await db.query<{ last: number | null }>(LAST_INDEX_SQL, [groupId])).rows[0]!.last
}

/** Members that are to be ended: those in the queue or waiting for a retry, and where `running` holds those that run. */
const isRest = (running: string) => `c.state IN ('LIVE', 'WAITING_RETRY', 'HELD') AND c.cancelled_at IS NULL
    AND (${running} OR c.state <> 'LIVE' OR s.status = 'PENDING')`

/** Whether there are groups to release. Groups that only wait for running members are left out: they would keep others from their turn. */
const WORK_SQL = keepsPlan(`SELECT EXISTS (SELECT FROM group_changes) AS changes,
  EXISTS (SELECT FROM session_groups WHERE release_due) AS releases,
  ARRAY(SELECT g.id FROM session_groups g WHERE g.outcome IS NOT NULL AND g.ended_at IS NULL
    AND EXISTS (SELECT FROM chains c JOIN sessions s ON s.id = c.tail_id
      WHERE c.group_id = g.id AND ${isRest(`g.outcome <> 'FAILED' OR g.on_failure = 'STOP'`)})
    LIMIT $1) AS ending`)

export interface GroupWork {
  /** There are changes to add up. */
  changes: boolean
  /** There are groups whose members may begin. */
  releases: boolean
  /** Groups with members to be ended. */
  ending: string[]
}

/** Indexes: session_groups_ending, session_groups_release_due, chains_of_groups_by_state. */
export async function readGroupWork(db: Queryable, limit: number): Promise<GroupWork> {
  return (await db.query<GroupWork>(WORK_SQL, [limit])).rows[0]!
}

const ALONE_SQL = `SELECT pg_try_advisory_xact_lock(hashtext('reprise:settle-groups')) AS alone`

/** One server at a time adds changes up, so that no two of them lock groups in different orders. */
export async function isAlone(tx: Queryable): Promise<boolean> {
  return (await tx.query<{ alone: boolean }>(ALONE_SQL)).rows[0]!.alone
}

/** Indexes: primary keys. Locks: groups. */
const ADD_UP_SQL = `
WITH taken AS (
  DELETE FROM group_changes WHERE id IN (SELECT id FROM group_changes ORDER BY id LIMIT $1) RETURNING *
), sums AS (
  SELECT group_id, sum(live) AS live, sum(waiting) AS waiting, sum(succeeded) AS succeeded, sum(failed) AS failed,
    sum(cancelled) AS cancelled, count(*) AS number, bool_or(live > 0) AS revived
  FROM taken GROUP BY group_id
), added AS (
  UPDATE session_groups g SET live = g.live + s.live, waiting = g.waiting + s.waiting,
    succeeded = g.succeeded + s.succeeded, failed = g.failed + s.failed, cancelled = g.cancelled + s.cancelled
  FROM sums s WHERE g.id = s.group_id RETURNING g.id, s.revived
)
SELECT id, revived, (SELECT coalesce(sum(number), 0)::int FROM sums) AS number FROM added`

/**
 * Adds changes to the counts of their groups. @returns the groups, with whether members of them began or began again, and
 * the number of changes
 */
export async function addUpChanges(
  tx: Queryable,
  limit: number,
): Promise<{ groups: Map<string, { revived: boolean }>; number: number }> {
  const { rows } = await tx.query<{ id: string; revived: boolean; number: number }>(ADD_UP_SQL, [limit])
  return { groups: new Map(rows.map(({ id, revived }) => [id, { revived }])), number: rows[0]?.number ?? 0 }
}

export interface JudgedGroup {
  id: string
  verdict: GroupVerdict | null
  hasEnded: boolean
  epoch: number
}

const JUDGED_SQL = `
UPDATE session_groups g SET outcome = j.outcome::group_outcome, reason = j.reason, epoch = j.epoch,
  cancelled_by = CASE WHEN j.outcome IS NOT NULL AND j.epoch = g.epoch THEN g.cancelled_by END,
  ended_at = CASE WHEN j.ended AND j.epoch = g.epoch THEN coalesce(g.ended_at, reprise_now())
    WHEN j.ended THEN reprise_now() END
FROM json_to_recordset($1::json) AS j(id uuid, outcome text, reason text, epoch int, ended boolean) WHERE g.id = j.id`

/** Writes the verdicts of groups that the transaction has locked. */
export async function writeVerdicts(tx: Queryable, groups: readonly JudgedGroup[]): Promise<void> {
  const rows = groups.map(({ id, verdict, hasEnded: ended, epoch }) => ({ id, ...verdict, ended, epoch }))
  if (rows.length > 0) await tx.query(JUDGED_SQL, [JSON.stringify(rows)])
}

const END_EVENT_SQL = `
INSERT INTO session_events (type, group_id, project_id, data)
SELECT 'group.ended', g.id, g.project_id, jsonb_build_object('outcome', g.outcome, 'reason', g.reason, 'epoch', g.epoch,
  'counts', jsonb_build_object('total', g.total, 'succeeded', g.succeeded, 'failed', g.failed, 'cancelled', g.cancelled),
  'failures', coalesce((SELECT jsonb_agg(jsonb_build_object('index', f.group_index, 'chainId', f.chain_id,
      'sessionId', f.tail_id, 'cause', f.cause) ORDER BY f.group_index)
    FROM (SELECT * FROM chains c WHERE c.group_id = g.id AND c.state = 'FAILED'
      ORDER BY c.group_index LIMIT ${GROUP_FAILURES_NAMED_MAX}) AS f), '[]'))
FROM session_groups g WHERE g.id = ANY($1::uuid[])`

/** Writes the event of a group's end, with `data` as GroupEventData. Index: chains_of_groups_by_state. */
export async function writeGroupEnds(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query(END_EVENT_SQL, [ids])
}

/** The newest attempts of members that are to be ended. Index: chains_of_groups_by_state. */
const REST_SQL = `
SELECT c.tail_id AS id FROM chains c JOIN sessions s ON s.id = c.tail_id
WHERE c.group_id = $1 AND ${isRest('$2')}
ORDER BY c.group_index LIMIT $3`

export async function readRest(
  db: Queryable,
  groupId: string,
  { running, limit }: { running: boolean; limit: number },
): Promise<string[]> {
  return (await db.query<{ id: string }>(REST_SQL, [groupId, running, limit])).rows.map(({ id }) => id)
}

const EMPTY_SQL = `
DELETE FROM session_groups WHERE id IN (
  SELECT g.id FROM session_groups g
  WHERE g.ended_at IS NOT NULL AND NOT EXISTS (SELECT FROM chains c WHERE c.group_id = g.id)
    AND NOT EXISTS (SELECT FROM group_changes c WHERE c.group_id = g.id)
  LIMIT $1 FOR UPDATE SKIP LOCKED)`

/** Deletes ended groups whose members retention has removed. @returns how many */
export async function removeEmptyGroups(db: Queryable, limit: number): Promise<number> {
  return (await db.query(EMPTY_SQL, [limit])).rowCount ?? 0
}

import type { Database, Queryable } from '../database.ts'
import type { ChainBound } from './chain/read-chains.sql.ts'
import { rollUpChains } from './insight/roll-up.sql.ts'
import type { Retention } from '../../domain/retention.ts'

/**
 * Claims finished chains, oldest first, that nothing waits for and that have no running kernel. Index:
 * chains_by_activity, once for each final state, with and without replicas. Locks: chains.
 */
const CLAIM_SQL = `
SELECT c.chain_id AS id FROM unnest(ARRAY['SUCCEEDED', 'FAILED', 'CANCELLED']::chain_state[]) AS final(state)
CROSS JOIN unnest(ARRAY[false, true]) AS kind(replica)
CROSS JOIN LATERAL (
  SELECT chain_id FROM chains
  WHERE project_id = $1 AND state = final.state AND replica = kind.replica AND newest_activity_at < $2
    AND NOT EXISTS (SELECT FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
      WHERE d.chain_id = chains.chain_id AND s.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED'))
    AND NOT EXISTS (SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
      WHERE s.chain_id = chains.chain_id AND NOT k.confirmed_gone)
    AND NOT EXISTS (SELECT FROM sessions s JOIN routes r ON r.session_id = s.id
      WHERE s.chain_id = chains.chain_id AND r.status <> 'TERMINATED')
  ORDER BY newest_activity_at LIMIT $3 FOR UPDATE SKIP LOCKED
) AS c LIMIT $3`

/** Deletes logs, history and sessions; kernels, decisions, dependencies and routes are deleted with their sessions. */
const REMOVE_SQL = `
WITH gone AS (SELECT id FROM sessions WHERE chain_id = ANY($1::uuid[])),
gone_kernels AS (SELECT k.id FROM kernels k JOIN gone ON gone.id = k.session_id),
gone_routes AS (SELECT r.id FROM routes r JOIN gone ON gone.id = r.session_id),
logs AS (DELETE FROM kernel_logs WHERE kernel_id IN (SELECT id FROM gone_kernels)),
history AS (DELETE FROM scheduling_history
  WHERE entity_id IN (SELECT id FROM gone UNION ALL SELECT id FROM gone_kernels UNION ALL SELECT id FROM gone_routes))
DELETE FROM sessions WHERE id IN (SELECT id FROM gone) RETURNING id`

/** Deletes the items of resubmissions whose children are gone. Index: resubmission_items(child_session_id). */
const ITEMS_SQL = `DELETE FROM resubmission_items WHERE child_session_id = ANY($1::uuid[]) RETURNING resubmission_id AS id`
const RESUBMISSIONS_SQL = `
DELETE FROM resubmissions r WHERE r.id = ANY($1::uuid[]) AND r.state <> 'RUNNING'
  AND NOT EXISTS (SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id)`

/** Deletes chains in one bounded transaction, after their figures are summed up; returns how many were deleted. */
export async function removeOldChains(db: Database, { projectId, before }: ChainBound, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const chainIds = ids(await tx.query<{ id: string }>(CLAIM_SQL, [projectId, before, limit]))
    if (chainIds.length === 0) return 0
    await rollUpChains(tx, chainIds)
    const sessionIds = ids(await tx.query<{ id: string }>(REMOVE_SQL, [chainIds]))
    const items = ids(await tx.query<{ id: string }>(ITEMS_SQL, [sessionIds]))
    if (items.length > 0) await tx.query(RESUBMISSIONS_SQL, [items])
    return chainIds.length
  })
}

function ids({ rows }: { rows: { id: string }[] }): string[] {
  return rows.map(({ id }) => id)
}

/** Resubmissions that finished before $1 and have no child left; children are deleted with their chains. */
const CHILDLESS = `r.finished_at < $1 AND NOT EXISTS (
    SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id AND i.child_session_id IS NOT NULL)`

/**
 * Items that were refused or never processed, of resubmissions without a child: they are kept no longer than the
 * session that they name. Indexes: resubmissions_finished_at, the primary keys.
 */
const OLD_ITEMS_SQL = `
WITH old AS MATERIALIZED (
  SELECT i.resubmission_id, i.position FROM resubmissions r JOIN resubmission_items i ON i.resubmission_id = r.id
  WHERE ${CHILDLESS} AND (i.code = 'SESSION_NOT_FOUND' OR NOT EXISTS (SELECT FROM sessions s WHERE s.id = i.session_id))
  LIMIT $2
)
DELETE FROM resubmission_items i USING old WHERE i.resubmission_id = old.resubmission_id AND i.position = old.position`

const EMPTY_SQL = `
DELETE FROM resubmissions WHERE id IN (
  SELECT r.id FROM resubmissions r WHERE r.finished_at < $1
    AND NOT EXISTS (SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id)
  ORDER BY r.finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

/**
 * Deletes items, and resubmissions that have none left; at most `limit` of each. Returns how many items were deleted.
 */
export async function removeOldResubmissions(db: Database, before: Date, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const items = (await tx.query(OLD_ITEMS_SQL, [before, limit])).rowCount ?? 0
    await tx.query(EMPTY_SQL, [before, limit])
    return items
  })
}

/**
 * Drops at most $3 checkpoints of chains that ended long ago with one of these outcomes. Their directories then belong
 * to a past generation, and agents remove them after their next report. The statement reads the directories that agents
 * have reported, even if their content is not on record, because an attempt whose agent died left something, too.
 *
 * Locks, without waiting: chains, whose state is checked again once they are locked, and the sessions that their
 * checkpoints refer to; then checkpoints. A chain that continues is LIVE from the transaction that creates its attempt,
 * before any agent hears of the attempt; the attempt gets the directory of the generation that is then on record, and
 * that one is not removed. The table of directories has one row for each directory of an agent. Indexes: primary keys,
 * sessions(chain_id, attempt), kernels(session_id).
 */
const SQL = `
WITH old AS MATERIALIZED (
  SELECT c.chain_id, c.project_id FROM chains c JOIN sessions root ON root.id = c.chain_id
  WHERE c.chain_id IN (SELECT chain_id FROM chain_directories
      UNION SELECT chain_id FROM checkpoints WHERE relay_attempt IS NOT NULL)
    AND c.state = ANY($1::chain_state[]) AND c.ended_at < reprise_now() - make_interval(secs => $2)
    AND NOT EXISTS (SELECT FROM checkpoints p WHERE p.chain_id = c.chain_id AND p.dropped_at >= c.ended_at)
    AND NOT EXISTS (SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
      WHERE s.chain_id = c.chain_id AND NOT k.confirmed_gone)
  LIMIT $3 FOR NO KEY UPDATE OF c SKIP LOCKED FOR KEY SHARE OF root SKIP LOCKED
)
INSERT INTO checkpoints AS p (chain_id, project_id, generation, dropped_at)
SELECT chain_id, project_id, 1, reprise_now() FROM old ORDER BY chain_id
ON CONFLICT (chain_id) DO UPDATE SET generation = p.generation + 1, dropped_at = excluded.dropped_at, relay_attempt = NULL, relay_sha256 = NULL,
  relay_bytes = NULL, relay_at = NULL`

/** @returns the number of dropped checkpoints */
export async function dropOldCheckpoints(
  db: Queryable,
  outcomes: readonly ('SUCCEEDED' | 'FAILED' | 'CANCELLED')[],
  { ageSeconds }: Retention,
  limit: number,
): Promise<number> {
  return (await db.query(SQL, [outcomes, ageSeconds, limit])).rowCount ?? 0
}

/**
 * Deletes agents that have been gone since before $1 and since before the oldest kept session: their kernels belonged
 * to older sessions, so none is left. Agents that a person is draining are kept. Slots are deleted with their agents.
 * Indexes: sessions(created_at, id); agents, which are few, are scanned. The foreign key makes each deletion read
 * kernels.
 */
const REMOVE_OLD_AGENTS_SQL = `
DELETE FROM agents WHERE id IN (
  SELECT a.id FROM agents a
  WHERE a.status IN ('LOST', 'TERMINATED') AND a.drained_at IS NULL AND greatest(a.last_heard_at, a.lease_from) < least($1,
    (SELECT created_at FROM sessions ORDER BY created_at, id LIMIT 1) - interval '1 hour')
  ORDER BY a.last_heard_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

export async function removeOldAgents(db: Queryable, before: Date, limit: number): Promise<number> {
  return (await db.query(REMOVE_OLD_AGENTS_SQL, [before, limit])).rowCount ?? 0
}

/**
 * Deletes stores that no agent has and that contain no checkpoint. Checkpoints are scanned only if there is a store
 * without an agent.
 */
const REMOVE_OLD_STORES_SQL = `
WITH without_agent AS MATERIALIZED (
  SELECT g.store FROM chain_store_groups g WHERE NOT EXISTS (SELECT FROM agents a WHERE a.chain_store = g.store)
), unused AS (
  SELECT g.store, g.resource_group FROM chain_store_groups g JOIN without_agent USING (store)
  WHERE NOT EXISTS (SELECT FROM checkpoints c WHERE c.store = g.store)
  LIMIT $1 FOR UPDATE OF g SKIP LOCKED
)
DELETE FROM chain_store_groups g USING unused WHERE g.store = unused.store AND g.resource_group = unused.resource_group`

export async function removeOldStores(db: Queryable, limit: number): Promise<number> {
  return (await db.query(REMOVE_OLD_STORES_SQL, [limit])).rowCount ?? 0
}

/**
 * Deletes old history of agents only: that of sessions and kernels is deleted with their chains. Index:
 * scheduling_history_agents.
 */
const REMOVE_OLD_AGENT_HISTORY_SQL = `
WITH oldest AS (
  SELECT entity_id, id, last_at FROM scheduling_history WHERE entity = 'AGENT' ORDER BY id LIMIT $3
)
DELETE FROM scheduling_history h USING oldest o WHERE h.entity_id = o.entity_id AND h.id = o.id
  AND (o.last_at < reprise_now() - make_interval(secs => $1::float8)
    OR o.id <= (SELECT id FROM scheduling_history WHERE entity = 'AGENT' ORDER BY id DESC OFFSET $2::int8
      LIMIT CASE WHEN $2::int8 IS NULL THEN 0 ELSE 1 END))`

export async function removeOldAgentHistory(
  db: Queryable,
  { ageSeconds, count }: Retention,
  limit: number,
): Promise<number> {
  return (await db.query(REMOVE_OLD_AGENT_HISTORY_SQL, [ageSeconds, count, limit])).rowCount ?? 0
}

/**
 * Deletes deployments destroyed before the oldest kept chain, with their revisions and their history, once their routes
 * are deleted with their sessions. Index: deployments(project_id, …). Locks: deployments.
 */
const REMOVE_OLD_DEPLOYMENTS_SQL = `
WITH old AS (
  SELECT id FROM deployments d WHERE project_id = $1 AND status = 'DESTROYED' AND destroyed_at < $2
    AND NOT EXISTS (SELECT FROM routes r WHERE r.deployment_id = d.id)
  ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
), history AS (
  DELETE FROM scheduling_history h USING old WHERE h.entity_id = old.id
)
DELETE FROM deployments d USING old WHERE d.id = old.id`

export async function removeOldDeployments(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(REMOVE_OLD_DEPLOYMENTS_SQL, [projectId, before, limit])).rowCount ?? 0
}

/** Deletes old history of deployments that still exist. Index: the primary key of the history. */
const REMOVE_OLD_DEPLOYMENT_HISTORY_SQL = `
WITH old AS MATERIALIZED (
  SELECT h.entity_id, h.id FROM deployments d JOIN scheduling_history h ON h.entity_id = d.id
  WHERE d.project_id = $1 AND d.status <> 'DESTROYED' AND h.last_at < $2
  LIMIT $3
)
DELETE FROM scheduling_history h USING old WHERE h.entity_id = old.entity_id AND h.id = old.id`

export async function removeOldDeploymentHistory(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(REMOVE_OLD_DEPLOYMENT_HISTORY_SQL, [projectId, before, limit])).rowCount ?? 0
}

/**
 * Deletes revisions that were replaced before $2 and that no route uses any more, not even a route that has ended.
 * Indexes: deployments(project_id, …), the primary key of revisions, routes(deployment_id, …).
 */
const REMOVE_OLD_REVISIONS_SQL = `
WITH old AS MATERIALIZED (
  SELECT v.deployment_id, v.revision FROM deployments d JOIN deployment_revisions v ON v.deployment_id = d.id
  WHERE d.project_id = $1 AND d.status <> 'DESTROYED' AND v.revision < d.revision
    AND EXISTS (SELECT FROM deployment_revisions n
      WHERE n.deployment_id = v.deployment_id AND n.revision > v.revision AND n.created_at < $2)
    AND NOT EXISTS (SELECT FROM routes r WHERE r.deployment_id = v.deployment_id AND r.revision = v.revision)
  LIMIT $3 FOR UPDATE OF v SKIP LOCKED
)
DELETE FROM deployment_revisions v USING old WHERE v.deployment_id = old.deployment_id AND v.revision = old.revision`

export async function removeOldRevisions(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(REMOVE_OLD_REVISIONS_SQL, [projectId, before, limit])).rowCount ?? 0
}

/**
 * Deletes outcomes of runs before the oldest kept chain; queued runs stay. Indexes: schedules(project_id, …),
 * schedule_runs(schedule_id, planned_at).
 */
const REMOVE_OLD_SCHEDULE_RUNS = `
WITH old AS MATERIALIZED (
  SELECT r.id FROM schedules s JOIN schedule_runs r ON r.schedule_id = s.id
  WHERE s.project_id = $1 AND r.last_planned_at < $2 AND r.planned_at < $2 AND r.outcome <> 'QUEUED'
  LIMIT $3
)
DELETE FROM schedule_runs r USING old WHERE r.id = old.id`

export async function removeOldScheduleRuns(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(REMOVE_OLD_SCHEDULE_RUNS, [projectId, before, limit])).rowCount ?? 0
}

/**
 * Deletes groups of failures that have none left and that nobody has judged, and with them what successful runs printed
 * long ago. Indexes: failure_groups(project_id, last_at), failures(group_id, …), failure_groups(merged_into).
 */
const REMOVE_OLD_FAILURE_GROUPS_SQL = `
WITH usual AS (
  DELETE FROM usual_lines WHERE project_id = $1 AND read_at < $2
), old AS (
  SELECT g.id FROM failure_groups g WHERE g.project_id = $1 AND g.last_at < $2 AND g.state = 'OPEN' AND g.name IS NULL
    AND g.merged_into IS NULL AND NOT EXISTS (SELECT FROM failures f WHERE f.group_id = g.id)
    AND NOT EXISTS (SELECT FROM failure_groups m WHERE m.merged_into = g.id)
  ORDER BY g.last_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
DELETE FROM failure_groups g USING old WHERE g.id = old.id`

export async function removeOldFailureGroups(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(REMOVE_OLD_FAILURE_GROUPS_SQL, [projectId, before, limit])).rowCount ?? 0
}

/**
 * Tables whose serial ids follow time, so that the oldest rows come first in the primary key. The bound by count uses
 * ids, although sequences omit a few.
 */
const TABLES = {
  logs: 'kernel_logs',
  audit: 'audit_log',
} as const

type AgingRows = keyof typeof TABLES

export async function removeOldRows(
  db: Queryable,
  rows: AgingRows,
  { ageSeconds, count }: Retention,
  limit: number,
): Promise<number> {
  const table = TABLES[rows]
  const sql = `
WITH oldest AS (SELECT id, at FROM ${table} ORDER BY id LIMIT $3)
DELETE FROM ${table} t USING oldest o WHERE t.id = o.id
  AND (o.at < reprise_now() - make_interval(secs => $1::float8) OR o.id <= (SELECT max(id) FROM ${table}) - $2::int8)`
  return (await db.query(sql, [ageSeconds, count, limit])).rowCount ?? 0
}

/**
 * Deletes the oldest events, in cursor order, that are too old or too many and that webhooks have already seen. The
 * position of the last deleted event is recorded in the same statement, so that an older cursor is recognised as
 * expired. Index: session_events(xid, id). One server at a time: the record is locked first.
 */
const REMOVE_OLD_EVENTS_SQL = `
WITH note AS (
  SELECT key FROM settings WHERE key = 'events.removed-through' FOR UPDATE SKIP LOCKED
), oldest AS (
  SELECT e.xid, e.id, e.occurred_at FROM session_events e, note ORDER BY e.xid, e.id LIMIT $3
), old AS (
  SELECT xid, id FROM oldest
  WHERE (occurred_at < reprise_now() - make_interval(secs => $1::float8)
      OR id <= (SELECT max(id) FROM session_events) - $2::int8)
    AND (NOT EXISTS (SELECT FROM webhooks)
      OR (xid, id) <= (SELECT (value ->> 'xid')::xid8, (value ->> 'id')::int8 FROM settings WHERE key = 'webhooks.cursor'))
), gone AS (
  DELETE FROM session_events e USING old WHERE e.id = old.id RETURNING e.xid, e.id
), last AS (
  SELECT xid, id FROM gone ORDER BY xid DESC, id DESC LIMIT 1
), noted AS (
  UPDATE settings SET updated_at = reprise_now(), value = jsonb_build_object('xid', last.xid::text, 'id', last.id::text)
  FROM last WHERE key = 'events.removed-through'
)
SELECT count(*)::int AS count FROM gone`

export async function removeOldEvents(db: Queryable, { ageSeconds, count }: Retention, limit: number): Promise<number> {
  return (await db.query<{ count: number }>(REMOVE_OLD_EVENTS_SQL, [ageSeconds, count, limit])).rows[0]!.count
}

/** Deletes sums of figures that are older than $1 milliseconds. Index: the primary key, once for each project. */
const removeOldFiguresSql = (table: 'rolled_figures' | 'rolled_retries') => `
DELETE FROM ${table} r WHERE r.ctid = ANY(ARRAY(
  SELECT old.ctid FROM projects p CROSS JOIN LATERAL (SELECT o.ctid FROM ${table} o
    WHERE o.project_id = p.id AND o.at < reprise_now() - make_interval(secs => $1 / 1000.0) LIMIT $2) AS old LIMIT $2))`

export async function removeOldFigures(db: Queryable, olderThanMs: number, limit: number): Promise<number> {
  const removed = (await db.query(removeOldFiguresSql('rolled_figures'), [olderThanMs, limit])).rowCount ?? 0
  if (removed > 0) return removed
  return (await db.query(removeOldFiguresSql('rolled_retries'), [olderThanMs, limit])).rowCount ?? 0
}

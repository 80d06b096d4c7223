import type { AgentSelector } from '../../domain/scheduling/agent-pool.ts'
import type { Sequencer } from '../../domain/scheduling/sequence.ts'
import type { ExecutorOptions } from '../../domain/session/kernel-environment.ts'
import type { SessionType } from '../../domain/session/lifecycle.ts'
import type { Queryable } from '../database.ts'

/** A resource group's settings, as administrators set them. */
export interface GroupOptions {
  sequencer: Sequencer
  selector: AgentSelector
  triesMax: number
  reschedulesMax: number
  pendingTimeoutMs: number | null
  prepareTimeoutMs: number | null
  createTimeoutMs: number | null
  queueTimeoutMs: number | null
  terminateTimeoutMs: number
  fenceAfterMs: number
  stopGraceMs: number
  stopGraceMaxMs: number
  allowedSessionTypes: SessionType[]
  /** Executor options of all its sessions. */
  executorOptions: ExecutorOptions
  /** Keys of the options that a session may set itself. */
  allowedExecutorOptions: string[]
  draining: boolean
  drainReason: string | null
}

/** A group with the name of a deleted group gets the table's defaults. Inserts nothing if the name is taken. */
const CREATE_SQL = `
INSERT INTO resource_groups (name) VALUES ($1)
ON CONFLICT (name) DO UPDATE SET deleted_at = NULL WHERE resource_groups.deleted_at IS NOT NULL
RETURNING name`

export async function addGroup(tx: Queryable, name: string): Promise<boolean> {
  return (await tx.query(CREATE_SQL, [name])).rows.length > 0
}

const LOCK_SQL = `
SELECT sequencer, selector, tries_max AS "triesMax", reschedules_max AS "reschedulesMax",
  pending_timeout_ms AS "pendingTimeoutMs", prepare_timeout_ms AS "prepareTimeoutMs",
  create_timeout_ms AS "createTimeoutMs", queue_timeout_ms AS "queueTimeoutMs", terminate_timeout_ms AS "terminateTimeoutMs",
  fence_after_ms AS "fenceAfterMs", stop_grace_ms AS "stopGraceMs", stop_grace_max_ms AS "stopGraceMaxMs",
  to_json(allowed_session_types) AS "allowedSessionTypes", executor_options AS "executorOptions",
  allowed_executor_options AS "allowedExecutorOptions", drained_at IS NOT NULL AS draining,
  drain_reason AS "drainReason"
FROM resource_groups WHERE name = $1 AND deleted_at IS NULL FOR UPDATE`

/** Locks the group for the transaction: no session or agent can be added to it until the transaction ends. */
export async function lockGroupOptions(tx: Queryable, name: string): Promise<GroupOptions | undefined> {
  return (await tx.query<GroupOptions>(LOCK_SQL, [name])).rows[0]
}

const WRITE_SQL = `
UPDATE resource_groups SET sequencer = $2, selector = $3, tries_max = $4, reschedules_max = $5, pending_timeout_ms = $6,
  prepare_timeout_ms = $7, create_timeout_ms = $8, terminate_timeout_ms = $9, fence_after_ms = $10, stop_grace_ms = $11,
  allowed_session_types = $12::session_type[], drained_at = CASE WHEN $13 THEN coalesce(drained_at, reprise_now()) END,
  drain_reason = $14, executor_options = $15, allowed_executor_options = $16, queue_timeout_ms = $17,
  stop_grace_max_ms = $18
WHERE name = $1`

export async function writeGroupOptions(tx: Queryable, name: string, options: GroupOptions): Promise<void> {
  await tx.query(WRITE_SQL, [
    name,
    options.sequencer,
    options.selector,
    options.triesMax,
    options.reschedulesMax,
    options.pendingTimeoutMs,
    options.prepareTimeoutMs,
    options.createTimeoutMs,
    options.terminateTimeoutMs,
    options.fenceAfterMs,
    options.stopGraceMs,
    options.allowedSessionTypes,
    options.draining,
    options.drainReason,
    JSON.stringify(options.executorOptions),
    options.allowedExecutorOptions,
    options.queueTimeoutMs,
    options.stopGraceMaxMs,
  ])
}

/**
 * A pending retry will become a session of its parent's group. Indexes: sessions_active, deployments_active,
 * retry_decisions_queue.
 */
const USERS_SQL = `
SELECT (SELECT count(*) FROM agents WHERE resource_group = $1 AND status <> 'TERMINATED') AS agents,
  (SELECT count(*) FROM sessions WHERE resource_group = $1 AND status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')) AS sessions,
  (SELECT count(*) FROM deployments d JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = d.revision
    WHERE d.status <> 'DESTROYED' AND v.resource_group = $1) AS deployments,
  (SELECT count(*) FROM retry_decisions d JOIN sessions s ON s.id = d.session_id
    WHERE d.phase IN ('SCHEDULED', 'HELD') AND s.resource_group = $1) AS retries`

interface GroupUsers {
  agents: number
  sessions: number
  deployments: number
  retries: number
}

export async function countGroupUsers(tx: Queryable, name: string): Promise<GroupUsers> {
  return (await tx.query<GroupUsers>(USERS_SQL, [name])).rows[0]!
}

/** Finished sessions keep the group's name; its settings return to their defaults. */
const DELETE_SQL = `
UPDATE resource_groups g SET deleted_at = reprise_now(), sequencer = DEFAULT, selector = DEFAULT, tries_max = DEFAULT,
  reschedules_max = DEFAULT, pending_timeout_ms = DEFAULT, prepare_timeout_ms = DEFAULT, create_timeout_ms = DEFAULT,
  queue_timeout_ms = DEFAULT, terminate_timeout_ms = DEFAULT, fence_after_ms = DEFAULT, stop_grace_ms = DEFAULT,
  stop_grace_max_ms = DEFAULT, allowed_session_types = DEFAULT,
  executor_options = DEFAULT, allowed_executor_options = DEFAULT, drained_at = NULL, drain_reason = NULL
WHERE g.name = $1`

export async function deleteGroup(tx: Queryable, name: string): Promise<void> {
  await tx.query(DELETE_SQL, [name])
}

/** The capacity and use of one slot over the agents of a group, as plain decimals. */
export interface GroupSlotRow {
  resourceGroup: string
  slot: string
  capacity: string
  used: string
  agents: number
}

/** Lost and terminated agents do not count. */
const READ_GROUP_SLOTS_SQL = `
SELECT a.resource_group AS "resourceGroup", s.slot, trim_scale(sum(s.capacity))::text AS capacity,
  trim_scale(sum(s.used))::text AS used, count(*) AS agents
FROM agents a JOIN agent_slots s ON s.agent_id = a.id
WHERE a.resource_group = ANY($1::text[]) AND a.status IN ('ALIVE', 'SUSPECT', 'DRAINING')
GROUP BY a.resource_group, s.slot ORDER BY a.resource_group, s.slot`

export async function readGroupSlots(db: Queryable, resourceGroups: readonly string[]): Promise<GroupSlotRow[]> {
  return (await db.query<GroupSlotRow>(READ_GROUP_SLOTS_SQL, [resourceGroups])).rows
}

/** A session that waits in a group, with its position in FIFO order. */
export interface GroupPendingRow {
  resourceGroup: string
  id: string
  priority: number
  createdAt: Date
}

const WAITING = `s.resource_group = wanted.name AND s.status = 'PENDING' AND ($2::uuid IS NULL OR s.project_id = $2)`
/** The first comparison bounds the scan of the index; the second alone would not. */
const AFTER = `($3::smallint IS NULL OR s.priority <= $3
    AND (s.priority < $3 OR (s.created_at, s.id) > ($4::timestamptz, $5::uuid)))`
const ORDER = 'priority DESC, created_at, id'
const part = (which: string) => `(SELECT s.id, s.priority, s.created_at FROM sessions s
    WHERE ${WAITING} AND s.next_try_at IS ${which} AND ${AFTER} ORDER BY ${ORDER} LIMIT $6)`

/**
 * Sessions that may be scheduled are read in index order, and merged with the few that are paused. Indexes:
 * sessions_pending, sessions_resting.
 */
const PAGE_SQL = `
SELECT wanted.name AS "resourceGroup", page.id, page.priority, page.created_at AS "createdAt"
FROM unnest($1::text[]) AS wanted(name), LATERAL (
  SELECT * FROM (${part('NULL')} UNION ALL ${part('NOT NULL')}) AS waiting ORDER BY ${ORDER} LIMIT $6) AS page
ORDER BY page.priority DESC, page.created_at, page.id`

export type PendingPlace = Pick<GroupPendingRow, 'priority' | 'createdAt' | 'id'>

/** Reads a page for each group. */
export async function readGroupPending(
  db: Queryable,
  page: {
    groups: readonly string[]
    visibleProjectId: string | null
    after: PendingPlace | null
    limit: number
  },
): Promise<GroupPendingRow[]> {
  const { groups, visibleProjectId, after, limit } = page
  const values = [groups, visibleProjectId, after?.priority, after?.createdAt.toISOString(), after?.id, limit]
  return (await db.query<GroupPendingRow>(PAGE_SQL, values)).rows
}

const COUNT_SQL = `
SELECT wanted.name AS id, (SELECT count(*) FROM (SELECT FROM sessions s WHERE ${WAITING} LIMIT $3) AS waiting) AS count
FROM unnest($1::text[]) AS wanted(name)`

/** Counts up to `countMax` sessions of each group. */
export async function countGroupPending(
  db: Queryable,
  groups: readonly string[],
  visibleProjectId: string | null,
  countMax: number,
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [groups, visibleProjectId, countMax])
  return new Map(rows.map(({ id, count }) => [id, count]))
}

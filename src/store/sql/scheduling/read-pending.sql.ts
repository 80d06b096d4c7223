import type { GpuNeed } from '../../../domain/gpu.ts'
import { HEAD_OF_LINE_SKIPS_MAX, QUEUE_POSITION_MAX, RESERVATIONS_MAX } from '../../../domain/limits.ts'
import type { Sequencer } from '../../../domain/scheduling/sequence.ts'
import type { ClusterMode } from '../../../domain/session/lifecycle.ts'
import type { VolumeNeed } from '../../../domain/scheduling/resource-request.ts'
import type { Queryable } from '../../database.ts'
import { CLASS } from './claim-pending.sql.ts'
import { DEPENDENCIES } from '../session/creation-scope.sql.ts'
import { NEEDS_PORTS, VOLUME_NEED } from '../session/session-columns.sql.ts'
import { DRAINED } from './pending-groups.sql.ts'

/** The fields that determine where a pending session can be placed. */
export interface PendingDemand {
  id: string
  attempt: number
  group: string
  priority: number
  projectId: string
  userId: string | null
  clusterMode: ClusterMode
  clusterSize: number
  resourceSlots: Record<string, string>
  allowAgents: string[]
  avoidAgents: string[]
  excludeAgents: string[]
  agentLabels: Record<string, string>
  volumeNeed: VolumeNeed | null
  needsPorts: boolean
  gpuNeed: GpuNeed | null
  concurrencyKey: string | null
}

export interface PendingRow extends PendingDemand {
  sequencer: Sequencer
  /** Why nothing new is scheduled in its group, as text; null if the group is not drained. */
  drained: string | null
  /** ISO 8601; null if it has passed. */
  startsAt: string | null
  restsForMs: number | null
  lastError: string | null
  total: number
  open: number
  failed: string | null
  /** The name of a group that its own group still waits for. */
  awaited: string | null
  before: number
}

export const DEMAND_COLUMNS = `s.id, s.attempt, s.resource_group AS "group", s.priority, s.project_id AS "projectId", s.user_id AS "userId",
  s.cluster_mode AS "clusterMode", s.cluster_size AS "clusterSize", s.resource_slots AS "resourceSlots",
  s.allow_agents AS "allowAgents", s.avoid_agents AS "avoidAgents", s.exclude_agents AS "excludeAgents",
  s.agent_labels AS "agentLabels", ${VOLUME_NEED} AS "volumeNeed", ${NEEDS_PORTS} AS "needsPorts", s.gpu_need AS "gpuNeed", s.concurrency_key AS "concurrencyKey"`

const OTHERS = `FROM sessions o WHERE o.status = 'PENDING' AND o.next_try_at IS NULL AND o.resource_group = s.resource_group`

/**
 * Reads those of these sessions that are pending. The position in line is counted up to QUEUE_POSITION_MAX by scanning
 * the index sessions_pending: below 1 ms each, however long the line.
 */
const SQL = `
SELECT ${DEMAND_COLUMNS}, g.sequencer, ${DRAINED} AS drained,
  CASE WHEN s.starts_at > reprise_now() THEN to_char(s.starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END AS "startsAt",
  CASE WHEN s.next_try_at > reprise_now() THEN ceil(extract(epoch FROM s.next_try_at - reprise_now()) * 1000)::float8 END AS "restsForMs",
  CASE WHEN s.next_try_at > reprise_now() THEN (SELECT h.message FROM scheduling_history h
    WHERE h.entity_id = s.id AND h.error_code IS NOT NULL ORDER BY h.id DESC LIMIT 1) END AS "lastError",
  d.total::int, d.open::int, d.failed, d.awaited,
  (SELECT count(*) FROM (
    (SELECT ${OTHERS} AND o.priority > s.priority LIMIT $2)
    UNION ALL
    (SELECT ${OTHERS} AND g.sequencer = 'FIFO' AND o.priority = s.priority AND (o.created_at, o.id) < (s.created_at, s.id) LIMIT $2)
    UNION ALL
    (SELECT ${OTHERS} AND g.sequencer = 'LIFO' AND o.priority = s.priority AND (o.created_at, o.id) > (s.created_at, s.id) LIMIT $2)
    UNION ALL
    (SELECT ${OTHERS} AND g.sequencer = 'DRF' AND o.priority = s.priority AND o.id <> s.id LIMIT $2)
    LIMIT $2) AS before) AS before
FROM sessions s
JOIN resource_groups g ON g.name = s.resource_group
LEFT JOIN LATERAL ${DEPENDENCIES} AS d ON true
WHERE s.id = ANY($1) AND s.status = 'PENDING'`

export async function readPending(db: Queryable, sessionIds: readonly string[]): Promise<PendingRow[]> {
  const { rows } = await db.query<PendingRow>(SQL, [sessionIds, QUEUE_POSITION_MAX + 1])
  return rows
}

const DEMANDS_SQL = `SELECT ${DEMAND_COLUMNS} FROM sessions s WHERE s.id = ANY($1::uuid[]) AND s.status = 'PENDING'`

/** Reads where those of these sessions that are pending may be placed, and nothing else. */
export async function readDemands(db: Queryable, sessionIds: readonly string[]): Promise<PendingDemand[]> {
  return (await db.query<PendingDemand>(DEMANDS_SQL, [sessionIds])).rows
}

/** All pending sessions of a project with the same demand in the same resource group. */
export interface DemandKey {
  projectId: string
  group: string
  /** The value of CLASS, in decimal. */
  demand: string
}

/** The demands of pending sessions, by whether they can ever be met. */
export interface PendingDemands {
  impossible: readonly DemandKey[]
  /** Null if there are too many to list. */
  possible: readonly DemandKey[] | null
}

const demandsOf = (more: string) => `SELECT s.project_id, s.resource_group, ${CLASS} AS demand FROM sessions s
    WHERE s.status = 'PENDING' AND ($1::uuid IS NULL OR s.project_id = $1)${more}
    ORDER BY s.project_id, s.resource_group, ${CLASS} LIMIT 1`

/**
 * Reads the distinct demands of a project's pending sessions, or of all projects', each with one of its sessions. Each
 * costs two probes of an index, however many sessions it has: 0.1 ms. Index: sessions_demands.
 */
const DISTINCT_DEMANDS_SQL = `
WITH RECURSIVE demands AS (
  (SELECT first.*, 1 AS number FROM (${demandsOf('')}) AS first)
  UNION ALL
  SELECT next.*, demands.number + 1 FROM demands CROSS JOIN LATERAL (${demandsOf(
    ` AND (s.project_id, s.resource_group, ${CLASS}) > (demands.project_id, demands.resource_group, demands.demand)`,
  )}) AS next
  WHERE demands.number < $2
)
SELECT demands.demand::text AS demand, one.* FROM demands CROSS JOIN LATERAL (
  SELECT ${DEMAND_COLUMNS} FROM sessions s WHERE s.status = 'PENDING' AND s.project_id = demands.project_id
    AND s.resource_group = demands.resource_group AND ${CLASS} = demands.demand LIMIT 1) AS one`

export async function readDistinctDemands(
  db: Queryable,
  visibleProjectId: string | null,
  limit: number,
): Promise<(PendingDemand & DemandKey)[]> {
  const { rows } = await db.query<PendingDemand & DemandKey>(DISTINCT_DEMANDS_SQL, [visibleProjectId, limit])
  return rows
}

/** Reads in the order in which capacity is reserved. Index: sessions_holding_line. */
const OVERDUE_SQL = `
SELECT overdue.* FROM unnest($1::text[]) AS g(name) CROSS JOIN LATERAL (
  SELECT ${DEMAND_COLUMNS} FROM sessions s
  WHERE s.status = 'PENDING' AND s.next_try_at IS NULL AND s.resource_group = g.name
    AND s.skips >= ${HEAD_OF_LINE_SKIPS_MAX}
  ORDER BY s.priority DESC, s.created_at, s.id LIMIT $2) AS overdue`

/** Reads the first overdue sessions of these groups. */
export async function readOverdue(db: Queryable, groups: readonly string[]): Promise<PendingDemand[]> {
  const { rows } = await db.query<PendingDemand>(OVERDUE_SQL, [groups, RESERVATIONS_MAX])
  return rows
}

const ABSENT_SQL = `
SELECT resource_group AS "group", jsonb_object_agg(status, count) AS absent FROM (
  SELECT a.resource_group, a.status, count(*) FROM agents a
  WHERE a.resource_group = ANY($1) AND a.status <> 'ALIVE' GROUP BY 1, 2 ORDER BY 1, 2) AS counts
GROUP BY 1`

/** Counts the agents of each group that accept no work, by status. */
export async function readAbsentAgents(
  db: Queryable,
  groups: readonly string[],
): Promise<Map<string, Record<string, number>>> {
  const { rows } = await db.query<{ group: string; absent: Record<string, number> }>(ABSENT_SQL, [groups])
  return new Map(rows.map(({ group, absent }) => [group, absent]))
}

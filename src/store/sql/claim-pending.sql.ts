import { HEAD_OF_LINE_SKIPS_MAX } from '../../domain/limits.ts'
import type { Judged } from '../../domain/session/judge.ts'
import type { ClusterMode } from '../../domain/session/statuses.ts'
import type { Queryable } from '../database.ts'
import { DEPENDENCIES } from './dependencies.sql.ts'

export interface PendingSession extends Omit<Judged, 'kernels'> {
  id: string
  chainId: string
  attempt: number
  traceParent: string | null
  priority: number
  /** Milliseconds since 1970. */
  createdAt: number
  waitedMs: number
  projectId: string
  userId: string | null
  clusterMode: ClusterMode
  resourceSlots: Record<string, string>
  skips: number
  avoidAgents: string[]
  allowAgents: string[]
  agentLabels: Record<string, string>
  kernelIds: string[]
  /** Milliseconds until `startsAt`; null where that has come. */
  startsInMs: number | null
  /** Chains it waits for, and whether one of them has failed for good. */
  dependenciesOpen: number
  dependencyFailed: string | null
  lane: string
  /** More of its lane may be waiting than was claimed. */
  laneIsLong: boolean
  /** Among the first of the line, which are claimed without a gap. */
  atHead: boolean
  /** Not in line; claimed because it may have expired. */
  rests: boolean
}

export interface PendingClaim {
  resourceGroup: string
  /** Of the head of the line; 0 takes lanes only. */
  head: number
  youngestFirst: boolean
  /** How many lanes, from which on (null: the first), and how many sessions of all of them. */
  lanes: number
  fromLane: string | null
  laneSessions: number
  holders: number
  /** Also of those that have been pending for longer than the group allows, wherever they stand. */
  expired: number
}

export const LANE = `scheduling_lane(s.project_id, s.user_id, s.priority, s.resource_slots, s.cluster_size,
    s.cluster_mode = 'SINGLE_NODE', s.allow_agents, s.agent_labels)`

/** Ready to be looked at. */
export const IN_LINE = `s.status = 'PENDING' AND s.next_try_at IS NULL`

const byAge = (youngestFirst: boolean) => (youngestFirst ? 's.created_at DESC, s.id DESC' : 's.created_at, s.id')

/** The first $2 of the line, band by band, so that each can be read from either end. */
const head = (youngestFirst: boolean) => `bands AS (
  (SELECT s.priority FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 ORDER BY s.priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT s.priority FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND s.priority < bands.priority
    ORDER BY s.priority DESC LIMIT 1) FROM bands WHERE bands.priority IS NOT NULL
), head AS MATERIALIZED (
  SELECT first.id FROM bands CROSS JOIN LATERAL (
    SELECT s.id FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND s.priority = bands.priority
    ORDER BY ${byAge(youngestFirst)} LIMIT $2) AS first
  LIMIT $2
)`

const expiredBy = (limit: `$${number}`) => `expired AS MATERIALIZED (
  SELECT s.id FROM resource_groups g JOIN sessions s ON s.resource_group = g.name AND s.status = 'PENDING'
    AND s.status_changed_at < now() - make_interval(secs => g.pending_timeout_ms / 1000.0)
  WHERE g.name = $1 ORDER BY s.status_changed_at LIMIT ${limit}
)`

/** $3 lanes behind lane $4, by the next greater; the first of each, $5 in all; and $6 of those that hold the line. */
const lanesAndHolders = (youngestFirst: boolean) => `lanes AS (
  (SELECT ${LANE} AS lane, 1 AS number FROM sessions s
    WHERE ${IN_LINE} AND s.resource_group = $1 AND ($4::bigint IS NULL OR ${LANE} > $4) ORDER BY 1 LIMIT 1)
  UNION ALL
  SELECT (SELECT ${LANE} FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND ${LANE} > lanes.lane
    ORDER BY 1 LIMIT 1), lanes.number + 1
  FROM lanes WHERE lanes.lane IS NOT NULL AND lanes.number < $3
), seen AS MATERIALIZED (
  SELECT lane, greatest(1, $5 / count(*) OVER ()) AS reach FROM lanes WHERE lane IS NOT NULL
), of_lanes AS MATERIALIZED (
  SELECT first.id, seen.lane, count(*) OVER (PARTITION BY seen.lane) >= seen.reach AS long
  FROM seen CROSS JOIN LATERAL (
    SELECT s.id FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND ${LANE} = seen.lane
    ORDER BY ${byAge(youngestFirst)} LIMIT seen.reach) AS first
), holding AS MATERIALIZED (
  SELECT s.id FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND s.skips >= ${HEAD_OF_LINE_SKIPS_MAX}
  ORDER BY s.priority DESC, s.created_at, s.id LIMIT $6
)`

/** Without lanes, those at the head may be all. */
const claimed = (parts: readonly string[], withLanes: boolean) => `claimed AS MATERIALIZED (
  SELECT s.*, ${LANE} AS lane FROM sessions s
  WHERE s.id IN (${parts.map((part) => `SELECT id FROM ${part}`).join(' UNION ')}) AND s.status = 'PENDING'
  FOR UPDATE SKIP LOCKED
)
SELECT s.id, s.chain_id AS "chainId", s.attempt, s.trace_parent AS "traceParent",
  s.priority, extract(epoch FROM s.created_at)::float8 * 1000 AS "createdAt",
  extract(epoch FROM now() - s.status_changed_at)::float8 * 1000 AS "waitedMs",
  s.project_id AS "projectId", s.user_id AS "userId", s.status, s.tries, s.reschedules,
  g.tries_max AS "triesMax", g.reschedules_max AS "reschedulesMax",
  s.status_changed_at < now() - make_interval(secs => g.pending_timeout_ms / 1000.0) IS TRUE AS expired,
  s.pending_reason AS "pendingReason", s.cluster_mode AS "clusterMode", s.resource_slots AS "resourceSlots", s.skips,
  s.avoid_agents AS "avoidAgents", s.allow_agents AS "allowAgents", s.agent_labels AS "agentLabels",
  ARRAY(SELECT k.id FROM kernels k WHERE k.session_id = s.id ORDER BY k.role, k.index) AS "kernelIds",
  CASE WHEN s.starts_at > now() THEN ceil(extract(epoch FROM s.starts_at - now()) * 1000)::float8 END AS "startsInMs",
  coalesce(d.open, 0)::int AS "dependenciesOpen", d.failed AS "dependencyFailed", s.lane::text AS lane,
  s.id IN (SELECT id FROM head) AS "atHead", s.next_try_at IS NOT NULL AS rests,
  ${withLanes ? 'coalesce(known.long, true)' : 'false'} AS "laneIsLong",
  ${withLanes ? '(SELECT max(lane)::text FROM seen HAVING count(*) >= $3)' : 'NULL'} AS "nextLane"
FROM claimed s
JOIN resource_groups g ON g.name = s.resource_group
${withLanes ? 'LEFT JOIN (SELECT DISTINCT lane, long FROM of_lanes) AS known ON known.lane = s.lane' : ''}
LEFT JOIN LATERAL ${DEPENDENCIES} AS d ON true`

/**
 * The part of a group's line that one look needs, held for the transaction: its head; the first of each lane, which
 * tell for all behind them whether they fit; those that hold the line; and those that have expired. It costs by the
 * sessions claimed and by the number of lanes, not by the length of the line: with 100,000 pending 1 ms for 32 of the
 * head and 20 lanes, and 1.5 ms to plan. Indexes: sessions_pending, sessions_lanes, sessions_holding_line, sessions_active.
 */
function statement({ youngestFirst, expired }: PendingClaim, withLanes: boolean): string {
  const parts = ['head', ...(expired > 0 ? ['expired'] : []), ...(withLanes ? ['of_lanes', 'holding'] : [])]
  const tables = [
    head(youngestFirst),
    ...(expired > 0 ? [expiredBy(withLanes ? '$7' : '$3')] : []),
    ...(withLanes ? [lanesAndHolders(youngestFirst)] : []),
    claimed(parts, withLanes),
  ]
  return `WITH RECURSIVE ${tables.join(', ')}`
}

export interface ClaimedLine {
  sessions: PendingSession[]
  /** Lanes behind it were not seen; null where all behind `fromLane` were. */
  nextLane: string | null
}

export async function claimPending(tx: Queryable, claim: PendingClaim): Promise<ClaimedLine> {
  const { resourceGroup, head: first, lanes, fromLane, laneSessions, holders, expired } = claim
  const values = [resourceGroup, first, lanes, fromLane, laneSessions, holders]
  return read(tx, statement(claim, true), [...values, ...(expired > 0 ? [expired] : [])])
}

/** The whole line, where it is no longer than its head; undefined where it may be, and what was read is held all the same. */
export async function claimShortLine(tx: Queryable, claim: PendingClaim): Promise<ClaimedLine | undefined> {
  const { resourceGroup, head: first, expired } = claim
  const line = await read(tx, statement(claim, false), [resourceGroup, first, ...(expired > 0 ? [expired] : [])])
  return line.sessions.filter(({ atHead }) => atHead).length < first ? line : undefined
}

async function read(tx: Queryable, text: string, values: readonly unknown[]): Promise<ClaimedLine> {
  const { rows } = await tx.query<PendingSession & { nextLane: string | null }>(text, values)
  return { sessions: rows, nextLane: rows[0]?.nextLane ?? null }
}

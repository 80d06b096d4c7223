import type { GpuNeed } from '../../../domain/gpu.ts'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../../domain/limits.ts'
import type { Judged } from '../../../domain/session/judge.ts'
import type { ClusterMode } from '../../../domain/session/lifecycle.ts'
import type { VolumeNeed } from '../../../domain/scheduling/resource-request.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { DEPENDENCIES } from '../session/creation-scope.sql.ts'
import { NEEDS_PORTS, VOLUME_NEED } from '../session/session-columns.sql.ts'

export interface PendingSession extends Omit<Judged, 'kernels' | 'queuedTooLong' | 'neverRunTwice'> {
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
  excludeAgents: string[]
  agentLabels: Record<string, string>
  volumeNeed: VolumeNeed | null
  needsPorts: boolean
  gpuNeed: GpuNeed | null
  kernelIds: string[]
  concurrencyKey: string | null
  concurrencyLimit: number | null
  /** The session waits for its concurrency key, and may have been offered a place. */
  waitsForKey: boolean
  /** Milliseconds until `startsAt`; null if it has passed. */
  startsInMs: number | null
  /**
   * The number of chains that the session still waits for, and the last session of a dependency that has ended without
   * success.
   */
  dependenciesOpen: number
  dependencyFailed: string | null
  /** The name of a group that its own group still waits for. */
  groupAwaited: string | null
  schedulingClass: string
  /** The session's class may have more waiting sessions than were claimed. */
  classIsLong: boolean
  /** The session is among the first of the line, which are claimed without gaps. */
  atHead: boolean
  /** The session is not in the line, because it pauses after a try. It was claimed because it may have expired. */
  rests: boolean
}

export interface PendingClaim {
  resourceGroup: string
  /** Sessions to claim from the head of the line. */
  head: number
  youngestFirst: boolean
  /**
   * The number of scheduling classes, the class after which they begin (null for the first), and the number of sessions
   * from all of them together.
   */
  classes: number
  fromClass: string | null
  classSessions: number
  overdue: number
  /**
   * Additional sessions to claim that have been pending for longer than the group or they themselves allow, at any
   * position in the line.
   */
  expired: number
}

export const CLASS = `scheduling_lane(s.project_id, s.user_id, s.priority, s.resource_slots, s.cluster_size,
    s.cluster_mode = 'SINGLE_NODE', ${NEEDS_PORTS}, s.allow_agents, s.exclude_agents, s.agent_labels, s.mounts, s.gpu_need)`

/** Condition of a session in line, ready to be scheduled. */
export const IN_LINE = `s.status = 'PENDING' AND s.next_try_at IS NULL`

const byAge = (youngestFirst: boolean) => (youngestFirst ? 's.created_at DESC, s.id DESC' : 's.created_at, s.id')

/**
 * The first $2 sessions of the line, read one priority band at a time, so that each band can be read from either end.
 */
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

/** When `sessions s` reaches its own limit if nothing but resources was missing; in UTC, as the index has it. */
const LIMIT_REACHED_AT = `(s.status_changed_at AT TIME ZONE 'UTC') + make_interval(secs => s.max_pending)`

/**
 * Whether `sessions s` has waited longer than it may. Its wait begins neither before its start time, nor before all
 * that it depends on has succeeded.
 */
const WAITED_TOO_LONG = `(s.starts_at IS NULL OR s.starts_at < reprise_now() - make_interval(secs => s.max_pending))
    AND NOT EXISTS (SELECT FROM session_dependencies sd JOIN chains c ON c.chain_id = sd.chain_id
      JOIN sessions tail ON tail.id = c.tail_id
      WHERE sd.session_id = s.id AND (c.state <> 'SUCCEEDED'
        OR tail.terminated_at >= reprise_now() - make_interval(secs => s.max_pending)))
    AND (s.group_id IS NULL OR NOT EXISTS (SELECT FROM group_dependencies gd WHERE gd.group_id = s.group_id
      AND (gd.met IS NULL OR gd.met_at >= reprise_now() - make_interval(secs => s.max_pending))))`

const expiredBy = (limit: `$${number}`) => `expired AS MATERIALIZED (
  (SELECT s.id FROM resource_groups g JOIN sessions s ON s.resource_group = g.name AND s.status = 'PENDING'
    AND s.status_changed_at < reprise_now() - make_interval(secs => g.pending_timeout_ms / 1000.0)
  WHERE g.name = $1 ORDER BY s.status_changed_at LIMIT ${limit})
  UNION
  (SELECT s.id FROM sessions s WHERE s.status = 'PENDING' AND s.max_pending IS NOT NULL AND s.resource_group = $1
    AND ${LIMIT_REACHED_AT} < reprise_now() AT TIME ZONE 'UTC' AND ${WAITED_TOO_LONG}
  ORDER BY ${LIMIT_REACHED_AT} LIMIT ${limit})
)`

/**
 * The $3 classes after class $4, each found by one index probe; their first sessions, $5 in all; and $6 of the overdue
 * sessions.
 */
const classesAndOverdue = (youngestFirst: boolean) => `classes AS (
  (SELECT ${CLASS} AS class, 1 AS number FROM sessions s
    WHERE ${IN_LINE} AND s.resource_group = $1 AND ($4::bigint IS NULL OR ${CLASS} > $4) ORDER BY 1 LIMIT 1)
  UNION ALL
  SELECT (SELECT ${CLASS} FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND ${CLASS} > classes.class
    ORDER BY 1 LIMIT 1), classes.number + 1
  FROM classes WHERE classes.class IS NOT NULL AND classes.number < $3
), seen AS MATERIALIZED (
  SELECT class, greatest(1, $5 / count(*) OVER ()) AS reach FROM classes WHERE class IS NOT NULL
), of_classes AS MATERIALIZED (
  SELECT first.id, seen.class, count(*) OVER (PARTITION BY seen.class) >= seen.reach AS long
  FROM seen CROSS JOIN LATERAL (
    SELECT s.id FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND ${CLASS} = seen.class
    ORDER BY ${byAge(youngestFirst)} LIMIT seen.reach) AS first
), overdue AS MATERIALIZED (
  SELECT s.id FROM sessions s WHERE ${IN_LINE} AND s.resource_group = $1 AND s.skips >= ${HEAD_OF_LINE_SKIPS_MAX}
  ORDER BY s.priority DESC, s.created_at, s.id LIMIT $6
)`

/** Without classes, the sessions at the head may be the whole line. */
const claimed = (parts: readonly string[], withClasses: boolean) => `claimed AS MATERIALIZED (
  SELECT s.*, ${CLASS} AS class FROM sessions s
  WHERE s.id IN (${parts.map((part) => `SELECT id FROM ${part}`).join(' UNION ')}) AND s.status = 'PENDING'
  FOR UPDATE SKIP LOCKED
)
SELECT s.id, s.chain_id AS "chainId", s.attempt, s.trace_parent AS "traceParent",
  s.priority, extract(epoch FROM s.created_at)::float8 * 1000 AS "createdAt",
  extract(epoch FROM reprise_now() - s.status_changed_at)::float8 * 1000 AS "waitedMs",
  s.project_id AS "projectId", s.user_id AS "userId", s.status, s.tries, s.reschedules,
  g.tries_max AS "triesMax", g.reschedules_max AS "reschedulesMax",
  s.status_changed_at < reprise_now() - make_interval(secs => g.pending_timeout_ms / 1000.0) IS TRUE AS expired,
  CASE WHEN s.max_pending IS NOT NULL AND ${LIMIT_REACHED_AT} < reprise_now() AT TIME ZONE 'UTC' AND ${WAITED_TOO_LONG}
    THEN s.max_pending END AS "waitedTooLong",
  s.pending_reason AS "pendingReason", s.cluster_mode AS "clusterMode", s.resource_slots AS "resourceSlots", s.skips,
  s.avoid_agents AS "avoidAgents", s.allow_agents AS "allowAgents", s.exclude_agents AS "excludeAgents",
  s.agent_labels AS "agentLabels", ${VOLUME_NEED} AS "volumeNeed", ${NEEDS_PORTS} AS "needsPorts", s.gpu_need AS "gpuNeed", s.concurrency_key AS "concurrencyKey", s.concurrency_limit AS "concurrencyLimit",
  s.waits_for_key AS "waitsForKey", ARRAY(SELECT k.id FROM kernels k WHERE k.session_id = s.id ORDER BY k.role, k.index) AS "kernelIds",
  CASE WHEN s.starts_at > reprise_now() THEN ceil(extract(epoch FROM s.starts_at - reprise_now()) * 1000)::float8 END AS "startsInMs",
  coalesce(d.open, 0)::int AS "dependenciesOpen", d.failed AS "dependencyFailed", d.awaited AS "groupAwaited", s.class::text AS "schedulingClass",
  s.id IN (SELECT id FROM head) AS "atHead", s.next_try_at IS NOT NULL AS rests,
  ${withClasses ? 'coalesce(known.long, true)' : 'false'} AS "classIsLong",
  ${withClasses ? '(SELECT max(class)::text FROM seen HAVING count(*) >= $3)' : 'NULL'} AS "nextClass"
FROM claimed s
JOIN resource_groups g ON g.name = s.resource_group
${withClasses ? 'LEFT JOIN (SELECT DISTINCT class, long FROM of_classes) AS known ON known.class = s.class' : ''}
LEFT JOIN LATERAL ${DEPENDENCIES} AS d ON true`

/**
 * Claims the part of a group's line that one scheduling pass needs and locks it for the transaction: the head of the
 * line; the first sessions of each scheduling class, which show for all behind them whether they fit; the overdue ones;
 * and those that have expired. The cost grows with the number of claimed sessions and classes, not with the length of
 * the line: with 100,000 pending, 1 ms for 32 of the head and 20 classes, and 1.5 ms to plan. Indexes:
 * sessions_pending, sessions_lanes, sessions_holding_line, sessions_active, sessions_max_pending.
 */
function statement({ youngestFirst, expired }: PendingClaim, withClasses: boolean): string {
  const parts = ['head', ...(expired > 0 ? ['expired'] : []), ...(withClasses ? ['of_classes', 'overdue'] : [])]
  const tables = [
    head(youngestFirst),
    ...(expired > 0 ? [expiredBy(withClasses ? '$7' : '$3')] : []),
    ...(withClasses ? [classesAndOverdue(youngestFirst)] : []),
    claimed(parts, withClasses),
  ]
  return keepsPlan(`WITH RECURSIVE ${tables.join(', ')}`)
}

export interface ClaimedLine {
  sessions: PendingSession[]
  /** Scheduling classes after this one were not read; null if all were read. */
  nextClass: string | null
}

export async function claimPending(tx: Queryable, claim: PendingClaim): Promise<ClaimedLine> {
  const { resourceGroup, head: first, classes, fromClass, classSessions, overdue, expired } = claim
  const values = [resourceGroup, first, classes, fromClass, classSessions, overdue]
  return read(tx, statement(claim, true), [...values, ...(expired > 0 ? [expired] : [])])
}

/**
 * Claims the whole line, if it is shorter than its head. Returns undefined if it may be longer; the sessions read stay
 * locked then.
 */
export async function claimShortLine(tx: Queryable, claim: PendingClaim): Promise<ClaimedLine | undefined> {
  const { resourceGroup, head: first, expired } = claim
  const line = await read(tx, statement(claim, false), [resourceGroup, first, ...(expired > 0 ? [expired] : [])])
  return line.sessions.filter(({ atHead }) => atHead).length < first ? line : undefined
}

async function read(tx: Queryable, text: string, values: readonly unknown[]): Promise<ClaimedLine> {
  const { rows } = await tx.query<PendingSession & { nextClass: string | null }>(text, values)
  return { sessions: rows, nextClass: rows[0]?.nextClass ?? null }
}

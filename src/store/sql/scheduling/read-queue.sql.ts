import type { AgentSelector } from '../../../domain/scheduling/agent-pool.ts'
import type { Sequencer } from '../../../domain/scheduling/sequence.ts'
import type { SessionStatus } from '../../../domain/session/lifecycle.ts'
import type { Queryable } from '../../database.ts'
import { IN_LINE } from './claim-pending.sql.ts'
import { DRAINED } from './pending-groups.sql.ts'
import { DEMAND_COLUMNS, type PendingDemand } from './read-pending.sql.ts'

/** A session in line, with the options of its group. */
export interface QueueRow extends PendingDemand {
  now: Date
  name: string
  /** Milliseconds since 1970. */
  createdAt: number
  skips: number
  sequencer: Sequencer
  selector: AgentSelector
  roundRobinAt: string | null
  /** Why nothing new is scheduled in the group, as text; null if it is not drained. */
  drained: string | null
}

const READY = `${IN_LINE} AND s.resource_group = g.name AND (s.starts_at IS NULL OR s.starts_at <= reprise_now())`
const ROW = `SELECT ${DEMAND_COLUMNS}, s.name, extract(epoch FROM s.created_at)::float8 * 1000 AS "createdAt", s.skips
  FROM sessions s WHERE ${READY}`

/** The youngest of each band, from one end of the index. */
const YOUNGEST_FIRST = `WITH RECURSIVE bands AS (
    (SELECT s.priority FROM sessions s WHERE ${READY} ORDER BY s.priority DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT s.priority FROM sessions s WHERE ${READY} AND s.priority < bands.priority
      ORDER BY s.priority DESC LIMIT 1) FROM bands WHERE bands.priority IS NOT NULL
  )
  SELECT first.* FROM bands CROSS JOIN LATERAL (
    ${ROW} AND s.priority = bands.priority ORDER BY s.created_at DESC, s.id DESC LIMIT $2) AS first LIMIT $2`

const GROUP = `reprise_now() AS now, g.sequencer, g.selector, g.round_robin_at AS "roundRobinAt", ${DRAINED} AS drained`

/**
 * Reads the first $2 sessions in line of each group, however long the lines are. With LIFO these are the youngest of
 * each priority, with the other sequencers the oldest. Index: sessions_pending.
 */
const LINES_SQL = `
SELECT line.*, ${GROUP} FROM unnest($1::text[]) AS wanted(name) JOIN resource_groups g ON g.name = wanted.name
CROSS JOIN LATERAL (${ROW} ORDER BY s.priority DESC, s.created_at, s.id LIMIT $2) AS line WHERE g.sequencer <> 'LIFO'
UNION ALL
SELECT line.*, ${GROUP} FROM unnest($1::text[]) AS wanted(name) JOIN resource_groups g ON g.name = wanted.name
CROSS JOIN LATERAL (${YOUNGEST_FIRST}) AS line WHERE g.sequencer = 'LIFO'`

export async function readLines(db: Queryable, groups: readonly string[], limit: number): Promise<QueueRow[]> {
  return (await db.query<QueueRow>(LINES_SQL, [groups, limit])).rows
}

/** A kernel that holds slots of an agent. */
export interface HoldingRow {
  group: string
  sessionId: string
  agentId: string
  slots: Record<string, string>
  projectId: string
  userId: string | null
  name: string
  sessionType: 'BATCH' | 'INTERACTIVE' | 'INFERENCE'
  status: SessionStatus
  /** How long the program has run; 0 before that. */
  ranSeconds: number
  /** Until its batch timeout; null without one. */
  timesOutInSeconds: number | null
}

/** Indexes: kernels_on_agent, and primary keys. */
const HOLDING_SQL = `
SELECT held.* FROM unnest($1::text[]) AS wanted(name) CROSS JOIN LATERAL (
  SELECT a.resource_group AS "group", s.id AS "sessionId", a.id AS "agentId", k.resource_slots AS slots,
    s.project_id AS "projectId", s.user_id AS "userId", s.name, s.session_type AS "sessionType", s.status,
    greatest(0, extract(epoch FROM reprise_now() - s.started_at))::float8 AS "ranSeconds",
    CASE WHEN s.times_out_at IS NOT NULL THEN greatest(0, extract(epoch FROM s.times_out_at - reprise_now()))::float8 END AS "timesOutInSeconds"
  FROM agents a JOIN kernels k ON k.agent_id = a.id AND k.slots_held JOIN sessions s ON s.id = k.session_id
  WHERE a.resource_group = wanted.name LIMIT $2) AS held`

/** Reads the kernels that hold slots of agents of these groups; at most `limit` of each. */
export async function readHolding(db: Queryable, groups: readonly string[], limit: number): Promise<HoldingRow[]> {
  return (await db.query<HoldingRow>(HOLDING_SQL, [groups, limit])).rows
}

/** The name of some work in its project. */
export interface WorkName {
  projectId: string
  name: string
}

/**
 * Reads how long the last $3 chains of each name ran that succeeded, by one range of the index for each name, however
 * many chains there are.
 * Indexes: chains_by_name, sessions_pkey.
 */
const DURATIONS_SQL = `
SELECT wanted.project_id AS "projectId", wanted.name, ARRAY(
  SELECT greatest(0, extract(epoch FROM s.terminated_at - s.started_at))::float8 FROM (
    SELECT c.tail_id FROM chains c WHERE c.project_id = wanted.project_id AND c.state = 'SUCCEEDED' AND NOT c.replica
      AND c.name = wanted.name ORDER BY c.chain_id DESC LIMIT $3) AS last
  JOIN sessions s ON s.id = last.tail_id WHERE s.started_at IS NOT NULL AND s.terminated_at IS NOT NULL) AS seconds
FROM unnest($1::uuid[], $2::text[]) AS wanted(project_id, name)`

/** Reads how many seconds the last successes of each name ran. */
export async function readSuccessDurations(
  db: Queryable,
  names: readonly WorkName[],
  limit: number,
): Promise<(WorkName & { seconds: number[] })[]> {
  if (names.length === 0) return []
  const columns = [names.map(({ projectId }) => projectId), names.map(({ name }) => name)]
  return (await db.query<WorkName & { seconds: number[] }>(DURATIONS_SQL, [...columns, limit])).rows
}

import type { FailureCause } from '../../../domain/session/failure.ts'
import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'

/** The statuses of sessions that agents have. */
const PLACED = `('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING')`

/**
 * The letter of each state, as in MEMBER_STATES. A live member whose newest attempt has ended awaits the decision
 * whether to retry, and counts as running.
 */
const letterOf = (state: string, isQueued: string) => `CASE ${state} WHEN 'SUCCEEDED' THEN 'S' WHEN 'FAILED' THEN 'F'
    WHEN 'CANCELLED' THEN 'C' WHEN 'WAITING_RETRY' THEN 'W' WHEN 'HELD' THEN 'H'
    ELSE CASE WHEN ${isQueued} THEN 'Q' ELSE 'R' END END`

/** Index: chains_of_groups, and the primary key of sessions for live members. */
const STATES_SQL = `
SELECT w.id AS "groupId", m.states, m.indexes
FROM unnest($1::uuid[]) AS w(id)
CROSS JOIN LATERAL (
  SELECT coalesce(string_agg(${letterOf('n.state', "n.status = 'PENDING'")}, '' ORDER BY n.group_index), '') AS states,
    coalesce(array_agg(n.group_index ORDER BY n.group_index), '{}') AS indexes
  FROM (SELECT c.group_index, c.state,
      CASE c.state WHEN 'LIVE' THEN (SELECT s.status FROM sessions s WHERE s.id = c.tail_id) END AS status
    FROM chains c
    WHERE c.group_id = w.id AND c.group_index > $2
    ORDER BY c.group_index LIMIT $3) AS n
) AS m`

export interface MemberStatesRow {
  groupId: string
  /** A letter for each member. */
  states: string
  indexes: number[]
}

/** Reads the states of the first members after an index, of several groups. */
export async function readMemberStates(
  db: Queryable,
  groupIds: readonly string[],
  page: { after: number; limit: number },
): Promise<Map<string, MemberStatesRow>> {
  const { rows } = await db.query<MemberStatesRow>(STATES_SQL, [groupIds, page.after, page.limit])
  return new Map(rows.map((row) => [row.groupId, row]))
}

/**
 * One pass over the members: 100,000 take 100 ms. Indexes: chains_of_groups_by_state, which has all that is read of
 * members, and one of the live sessions.
 */
const RANGES_SQL = `
WITH running AS MATERIALIZED (
  SELECT s.group_id, s.group_index FROM sessions s
  WHERE s.group_id = ANY($1::uuid[]) AND s.project_id = ANY($2::uuid[]) AND s.status IN ${PLACED}
), members AS MATERIALIZED (
  SELECT c.group_id, c.state, c.group_index FROM chains c WHERE c.group_id = ANY($1::uuid[])
), numbered AS (
  SELECT *, (row_number() OVER (PARTITION BY group_id ORDER BY group_index) - 1) / $3::int AS part FROM members
)
SELECT n.group_id AS "groupId", min(n.group_index) AS "first", max(n.group_index) AS "last", count(*)::int AS total,
  count(*) FILTER (WHERE n.state = 'LIVE')::int AS live, count(r.group_index)::int AS running,
  count(*) FILTER (WHERE n.state IN ('WAITING_RETRY', 'HELD'))::int AS waiting,
  count(*) FILTER (WHERE n.state = 'SUCCEEDED')::int AS succeeded, count(*) FILTER (WHERE n.state = 'FAILED')::int AS failed,
  count(*) FILTER (WHERE n.state = 'CANCELLED')::int AS cancelled
FROM numbered n LEFT JOIN running r ON n.state = 'LIVE' AND r.group_id = n.group_id AND r.group_index = n.group_index
GROUP BY n.group_id, n.part ORDER BY n.group_id, n.part`

export interface MemberRangeRow {
  groupId: string
  first: number
  last: number
  total: number
  live: number
  running: number
  waiting: number
  succeeded: number
  failed: number
  cancelled: number
}

/** Cuts the members of groups into ranges with this number of members each, and counts their states. */
export async function readMemberRanges(
  db: Queryable,
  groups: readonly { id: string; projectId: string }[],
  size: number,
): Promise<MemberRangeRow[]> {
  const values = [groups.map(({ id }) => id), [...new Set(groups.map(({ projectId }) => projectId))], size]
  return (await db.query<MemberRangeRow>(RANGES_SQL, values)).rows
}

/** Looks at no more failed members than lists count. Indexes: chains_of_groups_by_state, primary key of sessions. */
const FAILURES_SQL = `
SELECT w.id AS "groupId", f.cause, f.timed_out AS "timedOut", count(*)::int AS count
FROM unnest($1::uuid[]) AS w(id)
CROSS JOIN LATERAL (
  SELECT c.cause, s.timed_out FROM chains c JOIN sessions s ON s.id = c.tail_id
  WHERE c.group_id = w.id AND c.state = 'FAILED'
  ORDER BY c.group_index LIMIT ${COUNTED_ROWS_MAX}
) AS f
GROUP BY w.id, f.cause, f.timed_out ORDER BY w.id, count DESC, f.cause`

export interface GroupFailureRow {
  groupId: string
  cause: FailureCause | null
  timedOut: boolean
  count: number
}

/** Counts the failed members of groups by the cause of their last failure, the most frequent first. */
export async function countGroupFailures(db: Queryable, groupIds: readonly string[]): Promise<GroupFailureRow[]> {
  return (await db.query<GroupFailureRow>(FAILURES_SQL, [groupIds])).rows
}

/** Index: chains_of_groups. */
const CHAINS_SQL = `
SELECT c.group_id AS "groupId", c.group_index AS index, c.chain_id AS "chainId"
FROM unnest($1::uuid[], $2::int[]) AS w(id, index)
JOIN chains c ON c.group_id = w.id AND c.group_index = w.index`

/** Finds the chains of members. */
export async function findMembers(
  db: Queryable,
  members: readonly { groupId: string; index: number }[],
): Promise<{ groupId: string; index: number; chainId: string }[]> {
  const values = [members.map(({ groupId }) => groupId), members.map(({ index }) => index)]
  return (await db.query<{ groupId: string; index: number; chainId: string }>(CHAINS_SQL, values)).rows
}

/**
 * Sessions start in the order of their creation, or in the reverse, so the first one to start is that of the first or of
 * the last member. Index: chains_of_groups.
 */
const STARTS_SQL = `
SELECT w.id AS "groupId", min(s.started_at) AS "startedAt"
FROM unnest($1::uuid[]) AS w(id)
CROSS JOIN LATERAL (
  (SELECT c.chain_id FROM chains c WHERE c.group_id = w.id ORDER BY c.group_index LIMIT 1)
  UNION (SELECT c.chain_id FROM chains c WHERE c.group_id = w.id ORDER BY c.group_index DESC LIMIT 1)
) AS e
JOIN sessions s ON s.id = e.chain_id
GROUP BY w.id`

/** Returns when the first members of groups started; null if they have not. */
export async function readGroupStarts(db: Queryable, groupIds: readonly string[]): Promise<Map<string, Date | null>> {
  const { rows } = await db.query<{ groupId: string; startedAt: Date | null }>(STARTS_SQL, [groupIds])
  return new Map(rows.map(({ groupId, startedAt }) => [groupId, startedAt]))
}

/** The states of members: those of their chains, with LIVE divided as in MEMBER_STATES. */
export type MemberState = (typeof MEMBER_STATE_NAMES)[number]
export const MEMBER_STATE_NAMES = [
  'QUEUED',
  'RUNNING',
  'WAITING_RETRY',
  'HELD',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
] as const

export interface MemberRow {
  index: number
  chainId: string
  state: MemberState
  newestSessionId: string
  attempts: number
  exitCode: number | null
  cause: FailureCause | null
  reason: string | null
  endedAt: Date | null
}

/** Columns of a chain `c` and of its newest attempt `s`. */
const MEMBER = `c.group_index AS index, c.chain_id AS "chainId",
    CASE c.state WHEN 'LIVE' THEN CASE WHEN s.status = 'PENDING' THEN 'QUEUED' ELSE 'RUNNING' END
      ELSE c.state::text END AS state,
    c.tail_id AS "newestSessionId", c.attempts, s.exit_code AS "exitCode", s.failure_cause AS cause,
    s.status_reason AS reason, c.ended_at AS "endedAt"`

/**
 * Reads the wanted states one by one, each in the order of indexes, so that rare states need no look at the others.
 * Running members are found among what agents have, if not all live ones are wanted; those that await a decision about
 * their last attempt, for milliseconds, are then missing. Indexes:
 * chains_of_groups_by_state, sessions_live_of_project, and primary keys.
 */
const MEMBERS_SQL = `
SELECT * FROM (
  SELECT m.* FROM unnest($2::chain_state[]) AS w(state)
  CROSS JOIN LATERAL (
    SELECT ${MEMBER} FROM chains c JOIN sessions s ON s.id = c.tail_id
    WHERE c.group_id = $1 AND c.state = w.state AND c.group_index > $3
      AND (NOT $5::boolean OR c.state <> 'LIVE' OR s.status = 'PENDING')
    ORDER BY c.group_index LIMIT $4
  ) AS m
  UNION ALL
  SELECT r.* FROM (
    SELECT ${MEMBER} FROM sessions s JOIN chains c ON c.chain_id = s.chain_id AND c.tail_id = s.id
    WHERE s.project_id = $6::uuid AND s.group_id = $1 AND s.status IN ${PLACED}
      AND c.state = 'LIVE' AND c.group_index > $3
    ORDER BY c.group_index LIMIT $4
  ) AS r
) AS found
ORDER BY index LIMIT $4`

/** Reads the first members of a group after an index, in the order of their indexes, as far as they are in these states. */
export async function listMembers(
  db: Queryable,
  { id, projectId }: { id: string; projectId: string },
  { states, after, limit }: { states: readonly MemberState[]; after: number; limit: number },
): Promise<MemberRow[]> {
  const [isQueued, isRunning] = [states.includes('QUEUED'), states.includes('RUNNING')]
  const others = states.filter((state) => state !== 'QUEUED' && state !== 'RUNNING')
  const stored = isQueued ? ['LIVE', ...others] : others
  const runningIn = isRunning && !isQueued ? projectId : null
  const values = [id, stored, after, limit, isQueued && !isRunning, runningIn]
  return (await db.query<MemberRow>(MEMBERS_SQL, values)).rows
}

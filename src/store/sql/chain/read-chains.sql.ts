import type { AttemptWindow } from './chain-timelines.sql.ts'
import type { NewestAttempt, StoredChainState } from '../../../domain/chain/outlook.ts'
import type { FailureCause } from '../../../domain/session/failure.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import type { Retention } from '../../../domain/retention.ts'
import type { AttemptSpec } from '../../../domain/chain/spec-difference.ts'
import { specOf } from './chain-timelines.sql.ts'

/** A chain with data of its newest attempt and of the decision about that attempt. */
export interface ChainRow extends Omit<NewestAttempt, 'attempt'> {
  chainId: string
  projectId: string
  name: string
  labels: Record<string, string>
  /** The id of the newest attempt. */
  tailId: string
  /** The group that it is a member of, and its number there. */
  groupId: string | null
  groupIndex: number | null
  attempts: number
  /** `chainState` replaces LIVE by a more exact state. */
  state: StoredChainState
  cause: FailureCause | null
  createdAt: Date
  newestActivityAt: Date
  /** Null until the chain has ended. */
  endedAt: Date | null
  /** Seconds from its creation to its end, or to now. */
  totalSeconds: number
  /** The database's time. */
  now: Date
}

/** The columns of chains `c`; used with `CHAIN_JOINS`. */
export const CHAIN_COLUMNS = `c.chain_id AS "chainId", c.project_id AS "projectId", c.name, c.labels,
  c.tail_id AS "tailId", c.group_id AS "groupId", c.group_index AS "groupIndex", c.attempts, c.state, c.cause, c.created_at AS "createdAt",
  c.newest_activity_at AS "newestActivityAt", c.ended_at AS "endedAt",
  extract(epoch FROM coalesce(c.ended_at, reprise_now()) - c.created_at)::float8 AS "totalSeconds", reprise_now() AS now,
  tail.status, tail.session_type AS "sessionType", tail.retry_count AS "retryCount", tail.max_retries AS "maxRetries",
  d.phase, d.explanation, d.hold_reason AS "holdReason", d.held_by AS "heldBy", d.due_at AS "dueAt"`

export const CHAIN_JOINS = `JOIN sessions tail ON tail.id = c.tail_id LEFT JOIN retry_decisions d ON d.session_id = c.tail_id`

const SQL = keepsPlan(`
SELECT ${CHAIN_COLUMNS} FROM chains c ${CHAIN_JOINS}
WHERE c.chain_id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR c.project_id = $2)`)

export async function readChains(
  db: Queryable,
  chainIds: readonly string[],
  visibleProjectId: string | null,
): Promise<ChainRow[]> {
  return (await db.query<ChainRow>(SQL, [chainIds, visibleProjectId])).rows
}

/**
 * Reads attempts, oldest first, for each of many windows, which may differ in size. Index:
 * sessions_chain_id_attempt_key.
 */
const READ_CHAIN_ATTEMPTS = keepsPlan(`
SELECT w.number, s.id AS "sessionId"
FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS w(chain_id, after, size, number)
JOIN chains c ON c.chain_id = w.chain_id
CROSS JOIN LATERAL (
  SELECT id, attempt FROM sessions
  WHERE chain_id = w.chain_id AND attempt > w.after AND project_id = c.project_id ORDER BY attempt LIMIT w.size) AS s
ORDER BY w.number, s.attempt`)

/** Returns the session ids of each window, in the order of the windows. */
export async function readChainAttempts(db: Queryable, windows: readonly AttemptWindow[]): Promise<string[][]> {
  const columns = (['chainId', 'after', 'limit'] as const).map((name) => windows.map((window) => window[name]))
  const { rows } = await db.query<{ number: number; sessionId: string }>(READ_CHAIN_ATTEMPTS, columns)
  const found = Map.groupBy(rows, ({ number }) => number)
  return windows.map((_window, index) => (found.get(index + 1) ?? []).map(({ sessionId }) => sessionId))
}

/**
 * Reads, for each project, the time before which finished chains are too old or too many. It is never after the oldest
 * kept event, so that the session of every event can be read. This scans all chains that are kept by count, so it runs
 * once per retention interval.
 */
const READ_CHAIN_BOUNDS = `
SELECT p.id AS "projectId", least(bound.at, (SELECT occurred_at FROM session_events ORDER BY xid, id LIMIT 1)) AS before
FROM projects p CROSS JOIN LATERAL (SELECT greatest(
  reprise_now() - make_interval(secs => $1::float8),
  (SELECT newest_activity_at FROM chains WHERE project_id = p.id AND ended_at IS NOT NULL
    ORDER BY newest_activity_at DESC OFFSET $2::int8 LIMIT CASE WHEN $2::int8 IS NULL THEN 0 ELSE 1 END) + interval '1 millisecond'
) AS at) AS bound
WHERE bound.at IS NOT NULL`

export interface ChainBound {
  projectId: string
  before: Date
}

export async function readChainBounds(db: Queryable, { ageSeconds, count }: Retention): Promise<ChainBound[]> {
  return (await db.query<ChainBound>(READ_CHAIN_BOUNDS, [ageSeconds, count])).rows
}

export interface EpochRow {
  chainId: string
  epoch: number
  /** The epoch's first attempt. */
  sessionId: string
  attempt: number
  createdAt: Date
  /** Null if unknown. */
  actor: string | null
  resubmissionId: string | null
  overrides: Record<string, unknown> | null
  /** The spec of the previous attempt, if there are overrides. */
  specBefore: AttemptSpec | null
}

/**
 * Reads the first attempts of epochs, oldest first, with the person who requested them, the overrides, and the spec
 * before these. Index: resubmission_items_child_session_id_key.
 */
const READ_CHAIN_EPOCHS = `
SELECT c.chain_id AS "chainId", s.epoch, s.id AS "sessionId", s.attempt, s.created_at AS "createdAt",
  coalesce(r.actor, s.created_by, u.name) AS actor, r.id AS "resubmissionId", r.overrides,
  CASE WHEN r.overrides IS NOT NULL AND r.overrides <> '{}' THEN ${specOf('p')} END AS "specBefore"
FROM chains c CROSS JOIN LATERAL (
  SELECT * FROM sessions
  WHERE chain_id = c.chain_id AND project_id = c.project_id AND origin <> 'AUTO_RETRY' ORDER BY attempt LIMIT $2) AS s
LEFT JOIN users u ON u.id = s.user_id
LEFT JOIN resubmission_items i ON i.child_session_id = s.id
LEFT JOIN resubmissions r ON r.id = i.resubmission_id
LEFT JOIN sessions p ON p.id = s.parent_session_id AND p.project_id = c.project_id AND r.id IS NOT NULL
WHERE c.chain_id = ANY($1::uuid[])
ORDER BY c.chain_id, s.attempt`

export async function readChainEpochs(db: Queryable, chainIds: readonly string[], limit: number): Promise<EpochRow[]> {
  return (await db.query<EpochRow>(READ_CHAIN_EPOCHS, [chainIds, limit])).rows
}

const READ_CHAIN_IDS = `
SELECT id, chain_id AS "chainId" FROM sessions WHERE id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR project_id = $2)`

/** Reads the chain id by session id, for the sessions that the viewer may see. */
export async function readChainIds(
  db: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, string>> {
  if (sessionIds.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; chainId: string }>(READ_CHAIN_IDS, [sessionIds, visibleProjectId])
  return new Map(rows.map((row) => [row.id, row.chainId]))
}

/** Sums over the attempts of a chain that have the same outcome. */
export interface ChainTotalRow {
  chainId: string
  result: 'SUCCESS' | 'FAILURE' | 'UNDEFINED'
  /** Null if the attempts did not fail or the cause is unknown. */
  cause: FailureCause | null
  attempts: number
  /** Seconds of running user code; counted up to now if it is still running. */
  runningSeconds: number
  /** Seconds from creation until user code started, or until the end if it never did. */
  pendingSeconds: number
  /** Duration of the whole chain at the same moment. */
  totalSeconds: number
}

/** A thousand attempts take about 2 ms. Index: sessions_chain_id_attempt_key. */
const READ_CHAIN_TOTALS = `
SELECT c.chain_id AS "chainId", s.result, s.failure_cause AS cause, count(*) AS attempts,
  coalesce(sum(extract(epoch FROM coalesce(s.terminated_at, reprise_now()) - s.started_at)), 0)::float8 AS "runningSeconds",
  sum(extract(epoch FROM coalesce(s.started_at, s.terminated_at, reprise_now()) - s.created_at))::float8 AS "pendingSeconds",
  extract(epoch FROM coalesce(c.ended_at, reprise_now()) - c.created_at)::float8 AS "totalSeconds"
FROM chains c JOIN sessions s ON s.chain_id = c.chain_id AND s.project_id = c.project_id
WHERE c.chain_id = ANY($1::uuid[])
GROUP BY c.chain_id, s.result, s.failure_cause
ORDER BY c.chain_id, attempts DESC, cause`

export async function readChainTotals(db: Queryable, chainIds: readonly string[]): Promise<ChainTotalRow[]> {
  return (await db.query<ChainTotalRow>(READ_CHAIN_TOTALS, [chainIds])).rows
}

/** The files that the attempts of a chain have left for each other. */
export interface KeptCheckpointRow {
  chainId: string
  /** The last measured size; null if it was never measured. */
  bytes: number | null
  /** The newest attempt that left something; null if none has. */
  attempt: number | null
  publishedAt: Date | null
  /** When the servers' copy of that attempt was made; null if there is none. */
  copiedAt: Date | null
}

const READ_KEPT_CHECKPOINTS = `
SELECT chain_id AS "chainId", bytes::float8 AS bytes, attempt, published_at AS "publishedAt",
  CASE WHEN relay_attempt = attempt THEN relay_at END AS "copiedAt"
FROM checkpoints WHERE chain_id = ANY($1::uuid[]) AND dropped_at IS NULL`

/** Reads the checkpoints of chains; a chain without one has no row. */
export async function readKeptCheckpoints(db: Queryable, chainIds: readonly string[]): Promise<KeptCheckpointRow[]> {
  return (await db.query<KeptCheckpointRow>(READ_KEPT_CHECKPOINTS, [chainIds])).rows
}

/** Index: primary keys. */
const READ_ENDS = `
SELECT c.chain_id AS "chainId", c.state, c.tail_id AS "newestSessionId", c.attempts, s.exit_code AS "exitCode",
  s.failure_cause AS cause, s.status_reason AS reason, c.ended_at AS "endedAt"
FROM chains c JOIN sessions s ON s.id = c.tail_id
WHERE c.chain_id = ANY($1::uuid[]) AND c.state IN ('SUCCEEDED', 'FAILED', 'CANCELLED')`

/** How a chain ended: its state, and what its newest attempt came to. */
export interface ChainEndRow {
  chainId: string
  state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  newestSessionId: string
  attempts: number
  exitCode: number | null
  cause: FailureCause | null
  reason: string | null
  endedAt: Date | null
}

/** Reads those of these chains that have ended. */
export async function readChainEnds(db: Queryable, chainIds: readonly string[]): Promise<ChainEndRow[]> {
  return (await db.query<ChainEndRow>(READ_ENDS, [chainIds])).rows
}

import type { FailureCause, HoldReason, RetryPhase } from '../../../domain/session/failure.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { OPEN_BREAKER_OF_DECISION } from './breakers.sql.ts'
import { parentAliveMs, RETRY_SOURCE_COLUMNS, type RetrySource } from '../session/session-columns.sql.ts'

/** A due retry, with what its child is derived from. */
export interface DueRetry extends RetrySource {
  sessionId: string
  phase: RetryPhase
  holdReason: HoldReason | null
  /** A `HoldingSwitch`; null if no switch holds it. */
  heldBy: unknown
  cause: FailureCause
  counted: boolean
  delayMs: number
  dueAt: Date
  /** How long ago it became due, by the database's clock. */
  lateMs: number
  details: unknown
  /** Who cancelled the chain; null if nobody did. */
  cancelledBy: string | null
  /** Milliseconds until every kernel of the parent is certain to be gone; 0 if all are. */
  parentAliveMs: number
  /** The group of its failure, if the breaker of that group is open. */
  breakerId: string | null
}

/** Projects with a queued retry: one index probe each. */
const QUEUED_PROJECTS = `queued AS (
  (SELECT d.project_id FROM retry_decisions d WHERE d.phase IN ('SCHEDULED', 'HELD') ORDER BY d.project_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.project_id FROM retry_decisions d WHERE d.phase IN ('SCHEDULED', 'HELD')
      AND d.project_id > queued.project_id ORDER BY d.project_id LIMIT 1)
  FROM queued WHERE queued.project_id IS NOT NULL
)`

/**
 * Claims due retries and locks them for the transaction: the first of every project, then the second of every project,
 * and so on, so that no project waits behind another's backlog. Index: retry_decisions_queue.
 */
const SQL = keepsPlan(`
WITH RECURSIVE ${QUEUED_PROJECTS}, due AS MATERIALIZED (
  SELECT head.* FROM queued, LATERAL (
    SELECT d.session_id, d.ready_at, row_number() OVER (ORDER BY d.ready_at) AS turn FROM retry_decisions d
    WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.project_id = queued.project_id AND d.ready_at <= reprise_now()
    ORDER BY d.ready_at LIMIT $3) AS head
  ORDER BY head.turn, head.ready_at LIMIT $3
), taken AS MATERIALIZED (
  SELECT due.turn, due.ready_at AS place, d.* FROM due JOIN retry_decisions d USING (session_id)
  WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.ready_at <= reprise_now()
  ORDER BY due.turn, due.ready_at
  LIMIT $1
  FOR UPDATE OF d SKIP LOCKED
)
SELECT d.session_id AS "sessionId", d.phase, d.hold_reason AS "holdReason", d.held_by AS "heldBy", d.cause, d.counted,
  d.delay_ms AS "delayMs", d.due_at AS "dueAt", (extract(epoch FROM reprise_now() - d.due_at) * 1000)::float8 AS "lateMs", d.details,
  c.cancelled_by AS "cancelledBy", ${parentAliveMs('$2')} AS "parentAliveMs", ${OPEN_BREAKER_OF_DECISION} AS "breakerId",${RETRY_SOURCE_COLUMNS}
FROM taken d
JOIN sessions s ON s.id = d.session_id
JOIN sessions root ON root.id = s.chain_id
JOIN chains c ON c.chain_id = s.chain_id
ORDER BY d.turn, d.place`)

export async function claimDueRetries(
  tx: Queryable,
  options: { limit: number; window: number; fenceMarginMs: number },
): Promise<DueRetry[]> {
  const { limit, window, fenceMarginMs } = options
  return (await tx.query<DueRetry>(SQL, [limit, fenceMarginMs, window])).rows
}

const NEXT_SQL = keepsPlan(`
WITH RECURSIVE ${QUEUED_PROJECTS}
SELECT extract(epoch FROM min(first.ready_at) - reprise_now()) * 1000 AS "inMs" FROM queued, LATERAL (
  SELECT d.ready_at FROM retry_decisions d WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.project_id = queued.project_id
  ORDER BY d.ready_at LIMIT 1) AS first`)

/** Reads the milliseconds until the next retry is due, at least 0; null if none is queued. */
export async function nextRetryInMs(db: Queryable): Promise<number | null> {
  const { rows } = await db.query<{ inMs: string | null }>(NEXT_SQL)
  const inMs = rows[0]!.inMs
  return inMs === null ? null : Math.max(0, Number(inMs))
}

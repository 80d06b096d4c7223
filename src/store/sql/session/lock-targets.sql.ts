import type { ResubmissionTarget } from '../../../domain/resubmission/refuse.ts'
import type { FailureCause, RetryPhase } from '../../../domain/session/causes.ts'
import type { Queryable } from '../../database.ts'
import { CHILD_SOURCE_COLUMNS, parentAliveMs, type ChildSource } from './session-columns.sql.ts'

/** A session to be resubmitted; while the transaction holds it, nobody else can change it. */
export interface LockedTarget extends ResubmissionTarget, Omit<ChildSource, 'rootCreationId'> {
  /** Null if the chain's first session is gone. */
  rootCreationId: string | null
  retryDecided: boolean
  /** Of its decision; null if it has none. */
  retryPhase: RetryPhase | null
  failureCause: FailureCause | null
}

/**
 * Locks finished sessions in id order, as everywhere that takes more than one. This excludes decide-retries, which
 * locks sessions FOR UPDATE and skips those that are held. FOR UPDATE would be too strong here: the dispatcher, which
 * may hold the decision that is locked next, references the session by a foreign key.
 */
const SESSIONS_SQL = `
SELECT s.id FROM sessions s
WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2) AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
ORDER BY s.id
FOR NO KEY UPDATE`

/**
 * Then locks their decisions, in the same order: waits for a dispatcher that is working on one, and keeps others from
 * claiming one. This happens before any child is written: two writers of a child of the same parent would wait for each
 * other.
 */
const DECISIONS_SQL = `
SELECT FROM retry_decisions d WHERE d.session_id = ANY($1::uuid[]) ORDER BY d.session_id FOR UPDATE`

/**
 * A separate statement, so that it sees what was committed while the locks were awaited. Without a list of what is
 * locked, all are told as if they were.
 */
const READ_SQL = `
SELECT s.id, s.session_type AS "sessionType", s.status, s.result, coalesce(s.id = ANY($3::uuid[]), true) AS locked,
  child.id AS "childSessionId", ${parentAliveMs('$4')} AS "parentAliveMs", s.retry_decided AS "retryDecided",
  d.phase AS "retryPhase", s.failure_cause AS "failureCause",${CHILD_SOURCE_COLUMNS}
FROM sessions s
LEFT JOIN sessions root ON root.id = s.chain_id
LEFT JOIN sessions child ON child.parent_session_id = s.id
LEFT JOIN retry_decisions d ON d.session_id = s.id
WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)`

interface TargetsQuery {
  sessionIds: readonly string[]
  visibleProjectId: string | null
  fenceMarginMs: number
}

/** Targets by id; sessions of another project are missing. */
export async function lockTargets(tx: Queryable, query: TargetsQuery): Promise<Map<string, LockedTarget>> {
  const { sessionIds, visibleProjectId } = query
  const held = await tx.query<{ id: string }>(SESSIONS_SQL, [sessionIds, visibleProjectId])
  const locked = held.rows.map(({ id }) => id)
  await tx.query(DECISIONS_SQL, [locked])
  return readTargets(tx, { ...query, locked })
}

/** The same for information only, as it is now. `locked`: those that the transaction holds; null if nobody asks. */
export async function readTargets(
  db: Queryable,
  { sessionIds, visibleProjectId, fenceMarginMs, locked }: TargetsQuery & { locked: readonly string[] | null },
): Promise<Map<string, LockedTarget>> {
  const { rows } = await db.query<LockedTarget>(READ_SQL, [sessionIds, visibleProjectId, locked, fenceMarginMs])
  return new Map(rows.map((row) => [row.id, row]))
}

import type { RetryPhase } from '../../../domain/session/causes.ts'
import type { SessionStatus } from '../../../domain/session/statuses.ts'
import type { Queryable } from '../../database.ts'

/** A session whose state nobody else changes while the transaction lasts. */
export interface LockedSession {
  id: string
  projectId: string
  status: SessionStatus
  retryDecided: boolean
  /** Of its decision; null if there is none. */
  retryPhase: RetryPhase | null
}

/** In id order, as everywhere that takes more than one; FOR UPDATE would be too strong, see `lockTargets`. */
const SESSIONS_SQL = `
SELECT id FROM sessions WHERE id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR project_id = $2)
ORDER BY id FOR NO KEY UPDATE`

/** Waits for a dispatcher that is working on one, and keeps others from claiming one. */
const DECISIONS_SQL = `
SELECT FROM retry_decisions WHERE session_id = ANY($1::uuid[]) ORDER BY session_id FOR UPDATE`

/** A separate statement, so that it sees what was committed while the locks were awaited. */
const READ_SQL = `
SELECT s.id, s.project_id AS "projectId", s.status, s.retry_decided AS "retryDecided", d.phase AS "retryPhase"
FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id WHERE s.id = ANY($1::uuid[])`

/** Sessions by id, with their decisions; those of another project are missing. */
export async function lockSessions(
  tx: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
): Promise<Map<string, LockedSession>> {
  const held = await tx.query<{ id: string }>(SESSIONS_SQL, [sessionIds, visibleProjectId])
  const ids = held.rows.map(({ id }) => id)
  await tx.query(DECISIONS_SQL, [ids])
  const { rows } = await tx.query<LockedSession>(READ_SQL, [ids])
  return new Map(rows.map((row) => [row.id, row]))
}

import type { Queryable } from '../../database.ts'
import { insertStatusEvents } from '../event/event-data.sql.ts'

/**
 * Ends running sessions past their batch timeout as failed, which orders their kernels to stop. Until they have ended,
 * this is what is known so far: the result is asked anew then, as an agent that was away may report that a program had
 * ended in time (TIMED_OUT). Index: sessions_timing_out.
 */
const SQL = `
WITH claimed AS (
  SELECT id FROM sessions WHERE status = 'RUNNING' AND times_out_at <= reprise_now()
  ORDER BY times_out_at LIMIT $1 FOR UPDATE SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = 'TERMINATING', status_changed_at = reprise_now(), tries = 0, next_try_at = NULL,
    result = 'FAILURE',
    status_reason = 'task-timeout: still running after its batch timeout of ' || s.batch_timeout || ' s',
    status_data = jsonb_build_object('error', jsonb_build_object('name', 'task-timeout',
      'message', 'still running after its batch timeout of ' || s.batch_timeout || ' s'))
  FROM claimed WHERE s.id = claimed.id
  RETURNING s.id, s.chain_id, s.project_id, s.status_reason, 'RUNNING' AS "from", 'TERMINATING' AS "to"
), events AS (
  ${insertStatusEvents('moved', { reason: 'status_reason' })}
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, error_code, message)
  SELECT 'SESSION', id, 'enforce-batch-timeouts', 'RUNNING', 'TERMINATING', 'EXPIRED', 'task-timeout', status_reason
  FROM moved
)
SELECT (SELECT count(*) FROM moved) AS moved,
  (SELECT extract(epoch FROM min(times_out_at) - reprise_now()) * 1000 FROM sessions
    WHERE status = 'RUNNING' AND times_out_at > reprise_now()) AS "nextInMs"`

/** How many timed out, and in how many milliseconds the next one will; null if none is running with a timeout. */
export async function enforceBatchTimeouts(
  db: Queryable,
  limit: number,
): Promise<{ moved: number; nextInMs: number | null }> {
  const { rows } = await db.query<{ moved: number; nextInMs: string | null }>(SQL, [limit])
  const { moved, nextInMs } = rows[0]!
  return { moved, nextInMs: nextInMs === null ? null : Number(nextInMs) }
}

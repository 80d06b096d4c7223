import { PROMOTIONS } from '../../../domain/session/lifecycle.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { EVENT_POSITION } from '../event/event-data.sql.ts'
import { inStatuses, WRITE_STEPS } from './promotion-parts.sql.ts'

const { sessionIn, kernelStatuses } = PROMOTIONS['promote-to-pulling']

/**
 * Moves a preparing session to PULLING as soon as one of its kernels pulls. The preparing timeout continues from the
 * start of preparing. Index: sessions_active. Kernels keep their status.
 */
const SQL = keepsPlan(`
WITH claimed AS (
  SELECT s.id, s.status AS "from" FROM sessions s
  WHERE ${inStatuses('s.status', 'session_status', sessionIn)}
    AND EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND ${inStatuses('k.status', 'kernel_status', kernelStatuses)})
  ORDER BY s.status_changed_at LIMIT $1
  FOR UPDATE OF s SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = 'PULLING', tries = 0, next_try_at = NULL, event_position = ${EVENT_POSITION} FROM claimed c WHERE s.id = c.id
  RETURNING s.id, s.chain_id, s.project_id, s.event_position, s.status_reason AS reason, c."from", s.status AS "to"
), steps AS (
  SELECT 1 AS n, 'promote-to-pulling' AS phase, * FROM moved
), ${WRITE_STEPS}
SELECT count(*) AS moved FROM moved`)

/** Returns how many sessions were promoted; if it is `limit`, there may be more. */
export async function promoteToPulling(db: Queryable, limit: number): Promise<number> {
  const { rows } = await db.query<{ moved: number }>(SQL, [limit])
  return rows[0]!.moved
}

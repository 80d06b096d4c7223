import { PROMOTIONS } from '../../../domain/session/lifecycle.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { EVENT_POSITION } from '../event/event-data.sql.ts'
import { inStatuses, NONE_FAILED, WRITE_STEPS } from './promotion-parts.sql.ts'

/** A session whose kernels were ordered to start. */
export interface StartedSession {
  id: string
  chainId: string
  attempt: number
  traceParent: string | null
}

const { sessionIn, kernelStatuses } = PROMOTIONS['promote-to-prepared']

/**
 * Does promote-to-prepared, then the work of start-sessions: orders the kernels to start. A session with a lost agent
 * stays PREPARED for start-sessions to judge. Index: sessions_active. Locks: sessions that no other transaction has
 * locked, then their kernels in id order.
 */
const START_SQL = keepsPlan(`
WITH claimed AS MATERIALIZED (
  SELECT s.id, s.status AS "from", NOT EXISTS (SELECT FROM kernels k JOIN agents a ON a.id = k.agent_id
    WHERE k.session_id = s.id AND a.status IN ('LOST', 'TERMINATED')) AS starts
  FROM sessions s
  WHERE ${inStatuses('s.status', 'session_status', sessionIn)} AND ${NONE_FAILED}
    AND NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND ${inStatuses('k.status', 'kernel_status', kernelStatuses)})
  ORDER BY s.status_changed_at LIMIT $1
  FOR UPDATE OF s SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = CASE WHEN c.starts THEN 'CREATING'::session_status ELSE 'PREPARED' END,
    status_changed_at = reprise_now(), tries = 0, next_try_at = NULL, event_position = ${EVENT_POSITION}
  FROM claimed c WHERE s.id = c.id
  RETURNING s.id, s.chain_id, s.project_id, s.event_position, s.attempt, s.trace_parent, c."from", c.starts
), locked AS (
  SELECT k.id FROM kernels k JOIN moved m ON m.id = k.session_id AND m.starts
  WHERE k.status = 'PREPARED' ORDER BY k.id FOR NO KEY UPDATE OF k
), ordered AS (
  UPDATE kernels k SET status = 'CREATING', status_changed_at = reprise_now() FROM locked l WHERE k.id = l.id
  RETURNING k.agent_id
), steps AS (
  SELECT 1 AS n, id, chain_id, project_id, event_position, 'promote-to-prepared' AS phase, "from", 'PREPARED'::session_status AS "to",
    NULL::text AS reason FROM moved
  UNION ALL
  SELECT 2, id, chain_id, project_id, event_position, 'start-sessions', 'PREPARED', 'CREATING', NULL FROM moved WHERE starts
), ${WRITE_STEPS}
SELECT (SELECT count(*) FROM moved) AS moved, (SELECT count(*) FROM moved WHERE NOT starts) AS waiting,
  ARRAY(SELECT DISTINCT agent_id FROM ordered WHERE agent_id IS NOT NULL)::text[] AS "agentIds",
  (SELECT coalesce(json_agg(json_build_object('id', id, 'chainId', chain_id, 'attempt', attempt,
      'traceParent', trace_parent)), '[]')
    FROM moved WHERE starts AND ($2 OR trace_parent IS NOT NULL)) AS started`)

export interface Started {
  moved: number
  /** The number among them that is left for start-sessions to judge. */
  waiting: number
  /** Agents with kernels to start. */
  agentIds: string[]
  /** The sessions being started, for logs and traces: those with a trace, or all if `named`. */
  started: StartedSession[]
}

/** Starts sessions; if `limit` were moved, there may be more. */
export async function promoteToStart(db: Queryable, limit: number, named: boolean): Promise<Started> {
  return (await db.query<Started>(START_SQL, [limit, named])).rows[0]!
}

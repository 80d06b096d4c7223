import { positionOf } from '../event/event-data.sql.ts'
import { OUTPUTS_LOST_AFTER_MS } from '../../../domain/limits.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { IS_NEWEST_COMPLETE, outputsEventData } from './read-outputs.sql.ts'

/**
 * Settles outputs of ended sessions that no agent will send: their program never ran, their agent is gone, or it no
 * longer mentions them. An agent that was lost before it reported the start may have run the program, so only a kernel
 * that is known to be gone, and whose outputs no agent has begun to send, never ran. The outputs may still arrive if the
 * agent returns. Index: session_outputs_open, primary keys. Sessions that have not ended are read each time, too: about
 * 3 µs for each.
 */
const ABANDONED_SQL = keepsPlan(`
WITH open AS (
  SELECT o.session_id, s.project_id, s.chain_id,
    k.started_at IS NULL AND (k.agent_id IS NULL OR k.confirmed_gone) AND o.assignment IS NULL AS never_ran, coalesce(a.name, 'its agent') AS agent,
    a.id IS NULL OR a.status IN ('LOST', 'TERMINATED') AS is_gone,
    greatest(o.heard_at, s.terminated_at) < reprise_now() - ${OUTPUTS_LOST_AFTER_MS} * interval '1 millisecond' AS is_silent
  FROM session_outputs o JOIN sessions s ON s.id = o.session_id
  LEFT JOIN kernels k ON k.session_id = s.id AND k.role = 'main' AND k.index = 1
  LEFT JOIN agents a ON a.id = k.agent_id
  WHERE o.state IN ('WAITING', 'COLLECTING') AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
  LIMIT $1
), judged AS (
  SELECT session_id, project_id, chain_id, CASE WHEN never_ran THEN 'NONE' ELSE 'LOST' END AS state,
    CASE WHEN never_ran THEN 'its program never ran'
      WHEN is_gone THEN 'agent ' || agent || ', which has the files, is gone'
      ELSE 'agent ' || agent || ' does not have the files any more' END AS reason
  FROM open WHERE never_ran OR is_gone OR is_silent
), settled AS (
  UPDATE session_outputs o SET state = j.state::outputs_state, reasons = ARRAY[j.reason], completed_at = reprise_now()
  FROM judged j WHERE o.session_id = j.session_id AND o.state IN ('WAITING', 'COLLECTING')
  RETURNING o.session_id, j.project_id, j.chain_id, o.state, o.files, o.bytes
)
INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
SELECT ${positionOf('session_id')}, 'session.outputs_complete', session_id, chain_id, project_id, ${outputsEventData()} FROM settled`)

/** @returns the number of outputs that were settled */
export async function settleAbandonedOutputs(db: Queryable, limit: number): Promise<number> {
  return (await db.query(ABANDONED_SQL, [limit])).rowCount ?? 0
}

/** Index: session_outputs_kept, once for each project. */
const EXPIRED_SQL = `
WITH old AS MATERIALIZED (
  SELECT o.session_id FROM session_outputs o JOIN sessions s ON s.id = o.session_id
  WHERE o.files > 0 AND o.pinned_at IS NULL AND o.expires_at < reprise_now() AND NOT ${IS_NEWEST_COMPLETE}
  LIMIT $1 FOR UPDATE OF o SKIP LOCKED
), gone AS (
  DELETE FROM output_files WHERE session_id IN (SELECT session_id FROM old)
)
UPDATE session_outputs o SET state = 'EXPIRED', files = 0, bytes = 0 FROM old WHERE o.session_id = old.session_id`

/** Removes outputs whose time is over; their contents go once nothing else uses them. @returns how many */
export async function expireOutputs(db: Queryable, limit: number): Promise<number> {
  return (await db.query(EXPIRED_SQL, [limit])).rowCount ?? 0
}

const PIN_SQL = `
UPDATE session_outputs o SET pinned_at = CASE WHEN $3 THEN coalesce(o.pinned_at, reprise_now()) END
FROM sessions s WHERE o.session_id = $1 AND s.id = o.session_id AND ($2::uuid IS NULL OR s.project_id = $2)
RETURNING s.project_id AS "projectId"`

/** @returns the project; undefined if there are no outputs that the viewer sees */
export async function pinOutputs(
  tx: Queryable,
  sessionId: string,
  { visibleProjectId, pinned }: { visibleProjectId: string | null; pinned: boolean },
): Promise<string | undefined> {
  const { rows } = await tx.query<{ projectId: string }>(PIN_SQL, [sessionId, visibleProjectId, pinned])
  return rows[0]?.projectId
}

import { PROMOTIONS } from '../../../../domain/session/handlers.ts'
import type { Queryable } from '../../../database.ts'
import { DECIDES, ENDED, ENDED_SETS, NONE_FAILED, RUN } from './promotion-parts.sql.ts'
import { STATUS_EVENT_TYPE } from '../status-event-type.sql.ts'

/** A session whose kernels were ordered to start. */
export interface StartedSession {
  id: string
  chainId: string
  attempt: number
  traceParent: string | null
}

/** `steps` has one row for each step of a session, ordered by `n`: an event and a history row are written for each. */
const WRITE_STEPS = `events AS (
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT ${STATUS_EVENT_TYPE},
    id, chain_id, project_id, jsonb_build_object('from', "from", 'to', "to", 'reason', reason)
  FROM steps ORDER BY n
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'SESSION', id, phase, "from"::text, "to"::text, 'SUCCESS', reason FROM steps ORDER BY n
)`

/**
 * promote-to-prepared, then what start-sessions would do: orders the kernels to start. A session with a lost agent
 * stays PREPARED for start-sessions to judge.
 * Index: sessions_active. Locks: sessions that nobody holds, then their kernels in id order.
 */
const START_SQL = `
WITH claimed AS MATERIALIZED (
  SELECT s.id, s.status AS "from", NOT EXISTS (SELECT FROM kernels k JOIN agents a ON a.id = k.agent_id
    WHERE k.session_id = s.id AND a.status IN ('LOST', 'TERMINATED')) AS starts
  FROM sessions s
  WHERE s.status = ANY($1::session_status[]) AND ${NONE_FAILED}
    AND NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($2::kernel_status[]))
  ORDER BY s.status_changed_at LIMIT $3
  FOR UPDATE OF s SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = CASE WHEN c.starts THEN 'CREATING'::session_status ELSE 'PREPARED' END,
    status_changed_at = now(), tries = 0, next_try_at = NULL
  FROM claimed c WHERE s.id = c.id
  RETURNING s.id, s.chain_id, s.project_id, s.attempt, s.trace_parent, c."from", c.starts
), locked AS (
  SELECT k.id FROM kernels k JOIN moved m ON m.id = k.session_id AND m.starts
  WHERE k.status = 'PREPARED' ORDER BY k.id FOR NO KEY UPDATE OF k
), ordered AS (
  UPDATE kernels k SET status = 'CREATING', status_changed_at = now() FROM locked l WHERE k.id = l.id
  RETURNING k.agent_id
), steps AS (
  SELECT 1 AS n, id, chain_id, project_id, 'promote-to-prepared' AS phase, "from", 'PREPARED'::session_status AS "to",
    NULL::text AS reason FROM moved
  UNION ALL
  SELECT 2, id, chain_id, project_id, 'start-sessions', 'PREPARED', 'CREATING', NULL FROM moved WHERE starts
), ${WRITE_STEPS}
SELECT (SELECT count(*) FROM moved) AS moved, (SELECT count(*) FROM moved WHERE NOT starts) AS waiting,
  ARRAY(SELECT DISTINCT agent_id FROM ordered WHERE agent_id IS NOT NULL)::text[] AS "agentIds",
  (SELECT coalesce(json_agg(json_build_object('id', id, 'chainId', chain_id, 'attempt', attempt,
      'traceParent', trace_parent)), '[]')
    FROM moved WHERE starts AND ($4 OR trace_parent IS NOT NULL)) AS started`

export interface Started {
  moved: number
  /** Of these, sessions left for start-sessions to judge. */
  waiting: number
  /** Agents with kernels to start. */
  agentIds: string[]
  /** The sessions being started, for logs and traces: those with a trace, or all if `named`. */
  started: StartedSession[]
}

/** If `limit` sessions were moved, there may be more. */
export async function promoteToStart(db: Queryable, limit: number, named: boolean): Promise<Started> {
  const { sessionIn, kernelStatuses } = PROMOTIONS['promote-to-prepared']
  return (await db.query<Started>(START_SQL, [sessionIn, kernelStatuses, limit, named])).rows[0]!
}

/** The condition of the first promotion, by the status that it moves from; $1 are the kernel statuses. */
const CLAIMS = {
  CREATING: `${NONE_FAILED}
    AND NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($1::kernel_status[]))`,
  RUNNING: `EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($1::kernel_status[]) AND ${DECIDES})`,
} as const

const begins = (run: string) =>
  `started_at = ${run}.started_at, times_out_at = ${run}.started_at + make_interval(secs => s.batch_timeout),`

const RUNNING_STEP = `SELECT 1 AS n, id, chain_id, project_id, 'promote-to-running' AS phase,
    'CREATING'::session_status AS "from", 'RUNNING'::session_status AS "to", NULL::text AS reason`

/**
 * promote-to-running and detect-termination, or only the latter, then promote-to-terminated: moves each session as far
 * as the recorded states of its kernels allow.
 * Index: sessions_active. Kernels keep their status.
 */
const endStatement = (from: keyof typeof CLAIMS) => `
WITH claimed AS MATERIALIZED (
  SELECT s.id FROM sessions s WHERE s.status = '${from}' AND ${CLAIMS[from]}
  ORDER BY s.status_changed_at LIMIT $2
  FOR UPDATE OF s SKIP LOCKED
), known AS MATERIALIZED (
  SELECT c.id, run.started_at, ended.*, ended.failed IS NOT NULL AND NOT EXISTS (SELECT FROM kernels k
    WHERE k.session_id = c.id AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')) AS gone
  FROM claimed c CROSS JOIN LATERAL ${RUN} LEFT JOIN LATERAL ${ENDED} ON true
), running AS (
  UPDATE sessions s SET status = 'RUNNING', ${begins('run')} status_changed_at = now(), tries = 0, next_try_at = NULL
  FROM known AS run WHERE s.id = run.id AND run.failed IS NULL
  RETURNING s.id, s.chain_id, s.project_id, s.port_variable
), ending AS (
  UPDATE sessions s SET ${from === 'CREATING' ? begins('ended') : ''}
    status = CASE WHEN NOT ended.gone THEN 'TERMINATING'::session_status WHEN ended.failed THEN 'ERROR' ELSE 'TERMINATED' END,
    status_changed_at = now(), tries = 0, next_try_at = NULL, terminated_at = CASE WHEN ended.gone THEN now() END,
    ${ENDED_SETS}
  FROM known AS ended WHERE s.id = ended.id AND ended.failed IS NOT NULL
  RETURNING s.id, s.chain_id, s.project_id, s.status, s.status_reason AS reason, ended.gone,
    s.port_variable
), steps AS (
  ${from === 'CREATING' ? `${RUNNING_STEP} FROM running UNION ALL ${RUNNING_STEP} FROM ending UNION ALL` : ''}
  SELECT 2 AS n, id, chain_id, project_id, 'detect-termination' AS phase, 'RUNNING'::session_status AS "from",
    'TERMINATING'::session_status AS "to", reason FROM ending
  UNION ALL
  SELECT 3, id, chain_id, project_id, 'promote-to-terminated', 'TERMINATING', status, reason FROM ending WHERE gone
), ${WRITE_STEPS}
SELECT (SELECT count(*) FROM running) AS running, (SELECT count(*) FROM ending WHERE NOT gone) AS ending,
  (SELECT count(*) FROM ending WHERE gone) AS ended,
  (SELECT count(port_variable) FROM running) + (SELECT count(port_variable) FROM ending) AS serving`

const RUN_SQL = endStatement('CREATING')
const END_SQL = endStatement('RUNNING')

/** How many sessions reached which status. */
export interface Ended {
  running: number
  ending: number
  ended: number
  /** Of all these, sessions that serve on a port. */
  serving: number
}

/** Sessions whose kernels all run, or have run; if the counts add up to `limit`, there may be more. */
export async function promoteToEnd(db: Queryable, limit: number): Promise<Ended> {
  const { kernelStatuses } = PROMOTIONS['promote-to-running']
  return (await db.query<Ended>(RUN_SQL, [kernelStatuses, limit])).rows[0]!
}

/** Running sessions with an ended kernel; if the counts add up to `limit`, there may be more. */
export async function detectEnd(db: Queryable, limit: number): Promise<Ended> {
  const { kernelStatuses } = PROMOTIONS['detect-termination']
  return (await db.query<Ended>(END_SQL, [kernelStatuses, limit])).rows[0]!
}

import { PROMOTIONS } from '../../../domain/session/lifecycle.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { EVENT_POSITION } from '../event/event-data.sql.ts'
import {
  ASKED_ANEW,
  DECIDES,
  ENDED,
  ENDED_ANEW,
  ENDED_ANEW_SETS,
  ENDED_SETS,
  inStatuses,
  NONE_FAILED,
  RESULT_ANEW,
  RUN,
  WRITE_STEPS,
} from './promotion-parts.sql.ts'

const kernelIn = (name: keyof typeof PROMOTIONS) =>
  inStatuses('k.status', 'kernel_status', PROMOTIONS[name].kernelStatuses)

/** The condition of the first promotion, by the status that it moves from. */
const CLAIMS = {
  CREATING: `${NONE_FAILED}
    AND NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND ${kernelIn('promote-to-running')})`,
  RUNNING: `EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND ${kernelIn('detect-termination')} AND ${DECIDES})`,
} as const

const begins = (run: string) =>
  `started_at = ${run}.started_at, times_out_at = ${run}.started_at + make_interval(secs => s.batch_timeout),`

const RUNNING_STEP = `SELECT 1 AS n, id, chain_id, project_id, event_position, 'promote-to-running' AS phase,
    'CREATING'::session_status AS "from", 'RUNNING'::session_status AS "to", NULL::text AS reason`

/**
 * Builds promote-to-running and detect-termination, or only the latter, followed by promote-to-terminated: it moves
 * each session as far as the recorded states of its kernels allow. Index: sessions_active. Kernels keep their status.
 */
const endStatement = (from: keyof typeof CLAIMS) => `
WITH claimed AS MATERIALIZED (
  SELECT s.id FROM sessions s WHERE s.status = '${from}' AND ${CLAIMS[from]}
  ORDER BY s.status_changed_at LIMIT $1
  FOR UPDATE OF s SKIP LOCKED
), known AS MATERIALIZED (
  SELECT c.id, run.started_at, ended.*, ended.failed IS NOT NULL AND NOT EXISTS (SELECT FROM kernels k
    WHERE k.session_id = c.id AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')) AS gone
  FROM claimed c CROSS JOIN LATERAL ${RUN} LEFT JOIN LATERAL ${ENDED} ON true
), running AS (
  UPDATE sessions s SET status = 'RUNNING', ${begins('run')} status_changed_at = reprise_now(), tries = 0, next_try_at = NULL,
    event_position = ${EVENT_POSITION}
  FROM known AS run WHERE s.id = run.id AND run.failed IS NULL
  RETURNING s.id, s.chain_id, s.project_id, s.event_position, s.port_variable
), ending AS (
  UPDATE sessions s SET ${from === 'CREATING' ? begins('ended') : ''}
    status = CASE WHEN NOT ended.gone THEN 'TERMINATING'::session_status WHEN ended.failed THEN 'ERROR' ELSE 'TERMINATED' END,
    status_changed_at = reprise_now(), tries = 0, next_try_at = NULL, terminated_at = CASE WHEN ended.gone THEN reprise_now() END,
    event_position = ${EVENT_POSITION}, retry_decided = s.retry_decided OR $2 AND ended.gone AND NOT ended.failed,
    ${ENDED_SETS}
  FROM known AS ended WHERE s.id = ended.id AND ended.failed IS NOT NULL
  RETURNING s.id, s.chain_id, s.project_id, s.event_position, s.status, s.status_reason AS reason, ended.gone,
    s.port_variable, s.session_type
), steps AS (
  ${from === 'CREATING' ? `${RUNNING_STEP} FROM running UNION ALL ${RUNNING_STEP} FROM ending UNION ALL` : ''}
  SELECT 2 AS n, id, chain_id, project_id, event_position, 'detect-termination' AS phase, 'RUNNING'::session_status AS "from",
    'TERMINATING'::session_status AS "to", reason FROM ending
  UNION ALL
  SELECT 3, id, chain_id, project_id, event_position, 'promote-to-terminated', 'TERMINATING', status, reason FROM ending WHERE gone
), ${WRITE_STEPS}
SELECT (SELECT count(*) FROM running) AS running, (SELECT count(*) FROM ending WHERE NOT gone) AS ending,
  (SELECT count(*) FROM ending WHERE gone) AS ended,
  ARRAY(SELECT id FROM ending WHERE gone AND session_type = 'BATCH') AS "toDecide",
  (SELECT count(port_variable) FROM running) + (SELECT count(port_variable) FROM ending) AS serving`

const RUN_SQL = keepsPlan(endStatement('CREATING'))
const END_SQL = keepsPlan(endStatement('RUNNING'))

/** The number of sessions that reached each status. */
export interface Ended {
  running: number
  ending: number
  ended: number
  /** The batch sessions that ended. */
  toDecide: string[]
  /** Number of all these sessions that serve on a port. */
  serving: number
}

/**
 * A promotion that may end sessions. If the counts add up to `limit`, there may be more.
 *
 * @param decides whether the transaction goes on to record the decisions about `toDecide`. Successes are then marked as
 *   decided at once, so that their rows are written once and not twice.
 */
export type EndPromotion = (tx: Queryable, limit: number, decides: boolean) => Promise<Ended>

/** Moves sessions whose kernels all run, or have run. */
export const promoteToEnd: EndPromotion = async (tx, limit, decides) =>
  (await tx.query<Ended>(RUN_SQL, [limit, decides])).rows[0]!

/** Moves running sessions with an ended kernel. */
export const detectEnd: EndPromotion = async (tx, limit, decides) =>
  (await tx.query<Ended>(END_SQL, [limit, decides])).rows[0]!

/** The reason for a success that replaces a timeout. */
const WAS_IN_TIME = 'its program had ended in time, and its agent reported that later'

/**
 * Moves terminating sessions whose kernels have all ended. If one of several kernels or a timeout ended the session,
 * its result is judged again. A session that timed out before it was seen to run began when its kernels did. Index:
 * sessions_active. Kernels keep their status.
 */
const TERMINATED_SQL = keepsPlan(`
WITH claimed AS (
  SELECT s.id, s.status AS "from", ${ASKED_ANEW} FROM sessions s
  WHERE ${inStatuses('s.status', 'session_status', PROMOTIONS['promote-to-terminated'].sessionIn)}
    AND NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND ${kernelIn('promote-to-terminated')})
  ORDER BY s.status_changed_at LIMIT $1
  FOR UPDATE OF s SKIP LOCKED
), moved AS (
  UPDATE sessions s SET
    status = CASE ${RESULT_ANEW} WHEN 'FAILURE' THEN 'ERROR'::session_status ELSE 'TERMINATED' END,
    status_changed_at = reprise_now(), tries = 0, next_try_at = NULL, terminated_at = reprise_now(),
    event_position = ${EVENT_POSITION}, retry_decided = s.retry_decided OR $2 AND ${RESULT_ANEW} IS NOT DISTINCT FROM 'SUCCESS',
    started_at = CASE WHEN s.started_at IS NOT NULL OR ended.failed IS NULL THEN s.started_at
      ELSE (SELECT min(k.started_at) FROM kernels k WHERE k.session_id = s.id) END,
    ${ENDED_ANEW_SETS}
  FROM claimed c LEFT JOIN LATERAL ${ENDED_ANEW} ON c."failedByKernel" OR c."timedOut"
  WHERE s.id = c.id
  RETURNING s.id, s.chain_id, s.project_id, s.event_position, s.port_variable, s.session_type, c."from", s.status AS "to",
    CASE WHEN c."timedOut" AND s.result = 'SUCCESS' THEN '${WAS_IN_TIME}' ELSE s.status_reason END AS reason
), steps AS (
  SELECT 1 AS n, 'promote-to-terminated' AS phase, * FROM moved
), ${WRITE_STEPS}
SELECT 0 AS running, 0 AS ending, count(*) AS ended, count(port_variable) AS serving,
  coalesce(array_agg(id) FILTER (WHERE session_type = 'BATCH'), '{}') AS "toDecide"
FROM moved`)

/** Moves terminating sessions without a live kernel. */
export const promoteToTerminated: EndPromotion = async (tx, limit, decides) =>
  (await tx.query<Ended>(TERMINATED_SQL, [limit, decides])).rows[0]!

import { insertStatusEvents } from '../event/event-data.sql.ts'

/** Conditions on a session `s`, and facts about a claimed session `c`, shared by the promotion statements. */

/** True for a kernel `k` that failed or ended before it ran. */
export const FAILED_EARLY = `k.started_at IS NULL AND (k.error IS NOT NULL OR k.status IN ('TERMINATED', 'ERROR', 'CANCELLED'))`

/**
 * True if no kernel failed or ended before it ran; such a kernel blocks the promotion, and the handler of the session's
 * status judges it.
 */
export const NONE_FAILED = `NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND ${FAILED_EARLY})`

/**
 * True for a kernel `k` whose end ends the session: the main kernel, or any kernel that failed. A sub kernel that
 * succeeds has done its part.
 */
export const DECIDES = `(k.role = 'main' OR k.status <> 'TERMINATED' OR k.exit_code IS DISTINCT FROM 0)`

/** The start of the session's run, as `run.started_at`. */
export const RUN = `(
      SELECT coalesce(min(k.started_at), reprise_now()) AS started_at FROM kernels k WHERE k.session_id = c.id) AS run`

/**
 * The end of the session, as one row `ended` if it has ended. It is the end of the main kernel if that kernel ended by
 * itself, else the end of the lowest-numbered other kernel that failed by itself. Kernels that were stopped come last,
 * because they did not end the session. A kernel that ended by itself may be recorded after the session's end was
 * noticed; so this is evaluated again when all kernels have ended, and the result does not depend on the order of
 * reports.
 */
export const ENDED = endedBy('true')

/**
 * The end of a session `c` that is ending, where `c."timedOut"` is TIMED_OUT. After a timeout a kernel counts only
 * if it ended by itself, and within the session's batch timeout. Its agent decides whether it did; if the agent does
 * not report it, an end recorded before the timeout counts as in time. A timeout in another scheduler's queue is
 * refuted by any end.
 */
export const ENDED_ANEW = endedBy(`(NOT c."timedOut" OR NOT k.stopped AND k.started_at IS NOT NULL
        AND coalesce(k.in_time, k.terminated_at <= c.times_out_at, k.exit_code IS NOT NULL))`)

function endedBy(condition: string): string {
  return `(
      SELECT k.status <> 'TERMINATED' OR k.exit_code IS DISTINCT FROM 0 AS failed, k.exit_code, k.error, k.reason,
        k.role || k.index AS kernel, k.role || k.index || ' ended without an exit code' AS without_exit_code
      FROM kernels k WHERE k.session_id = c.id AND k.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND ${DECIDES}
        AND ${condition}
      ORDER BY k.stopped, k.role = 'main' DESC, k.index LIMIT 1) AS ended`
}

const ENDED_COLUMNS = {
  // A timeout has no exit code, regardless of whether the server or the agent noticed it: rules for exit codes are
  // about programs that were not too late.
  exit_code: `CASE WHEN ended.error ->> 'name' IS DISTINCT FROM 'task-timeout' THEN ended.exit_code END`,
  result: `CASE WHEN ended.failed THEN 'FAILURE'::session_result ELSE 'SUCCESS' END`,
  status_reason: `CASE WHEN ended.failed THEN coalesce(ended.error ->> 'message', ended.reason, ended.without_exit_code) END`,
  status_data: `CASE WHEN ended.failed THEN jsonb_build_object('kernel', ended.kernel, 'error', coalesce(ended.error,
        jsonb_build_object('name', 'kernel-vanished', 'message', ended.without_exit_code))) END`,
}

const list = (write: (value: string, column: string) => string) =>
  Object.entries(ENDED_COLUMNS)
    .map(([column, value]) => `${column} = ${write(value, column)}`)
    .join(',\n      ')

/** Sets the session columns from `ended`. */
export const ENDED_SETS = list((value) => value)

/**
 * Whether one of several kernels has ended session `s` with a failure. Ends by the main kernel's success, by a person
 * and by a timeout are final.
 */
export const FAILED_BY_KERNEL = `s.cluster_size > 1 AND s.status_data ? 'kernel'`

/**
 * Whether the server has ended session `s` because of a timeout. That is only what the server could know at that time:
 * an agent may report later that a kernel had ended by itself before. False for a session that one of its kernels
 * ended.
 */
export const TIMED_OUT = `(s.result = 'FAILURE' AND NOT s.status_data ? 'kernel'
    AND s.status_data #>> '{error,name}' IN ('task-timeout', 'scheduler-timeout')) IS TRUE`

/** The columns of `claimed` that the statements need to judge the end of session `s` again. */
export const ASKED_ANEW = `${FAILED_BY_KERNEL} AS "failedByKernel", ${TIMED_OUT} AS "timedOut", s.times_out_at`

/** Sets the same columns, but keeps them if `ended` is missing. */
export const ENDED_ANEW_SETS = list(
  (value, column) => `CASE WHEN ended.failed IS NULL THEN s.${column} ELSE ${value} END`,
)

/** The result after these assignments. */
export const RESULT_ANEW = `CASE WHEN ended.failed IS NULL THEN s.result ELSE ${ENDED_COLUMNS.result} END`

/**
 * Writes an event and a history row for each row of `steps`, which has one row for each step of a session, ordered by
 * `n`.
 */
export const WRITE_STEPS = `events AS (
  ${insertStatusEvents('steps ORDER BY n', { reason: 'reason' })}
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'SESSION', id, phase, "from"::text, "to"::text, 'SUCCESS', reason FROM steps ORDER BY n
)`

/** The statuses of a promotion as constants, so that plans for any parameters use partial indexes. */
export function inStatuses(
  column: string,
  type: 'session_status' | 'kernel_status',
  statuses: readonly string[],
): string {
  return `${column} = ANY('{${statuses.join(',')}}'::${type}[])`
}

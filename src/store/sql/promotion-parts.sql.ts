/** Conditions on a session `s`, and facts about a claimed session `c`, shared by the promotion statements. */

/** A kernel that failed or ended before it ran is for the handler in charge, and blocks promotion. */
export const NONE_FAILED = `NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.started_at IS NULL
    AND (k.error IS NOT NULL OR k.status IN ('TERMINATED', 'ERROR', 'CANCELLED')))`

/**
 * What ends a running session: the end of its main kernel, or the failure of any kernel. A sub kernel that succeeds has
 * done its part.
 */
export const DECIDES = `(k.role = 'main' OR k.status <> 'TERMINATED' OR k.exit_code IS DISTINCT FROM 0)`

/** When the session began to run, as `run.started_at`. */
export const RUN = `(
      SELECT coalesce(min(k.started_at), now()) AS started_at FROM kernels k WHERE k.session_id = c.id) AS run`

/**
 * How the session ended, as one row `ended` if it did: as the main kernel did if it has ended, else as the failed
 * kernel of the lowest index, in whatever order the ends were recorded.
 */
export const ENDED = `(
      SELECT k.status <> 'TERMINATED' OR k.exit_code IS DISTINCT FROM 0 AS failed, k.exit_code, k.error, k.reason,
        k.role || k.index || ' ended without an exit code' AS untold
      FROM kernels k WHERE k.session_id = c.id AND k.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND ${DECIDES}
      ORDER BY k.role = 'main' DESC, k.index LIMIT 1) AS ended`

/** The session columns set from `ended`. */
export const ENDED_SETS = `exit_code = ended.exit_code,
      result = CASE WHEN ended.failed THEN 'FAILURE'::session_result ELSE 'SUCCESS' END,
      status_reason = CASE WHEN ended.failed THEN coalesce(ended.error ->> 'message', ended.reason, ended.untold) END,
      status_data = CASE WHEN ended.failed THEN jsonb_build_object('error', coalesce(ended.error,
        jsonb_build_object('name', 'kernel-vanished', 'message', ended.untold))) END`

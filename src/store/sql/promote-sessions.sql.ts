import type { KernelMatch, PromotionDeclaration } from '../../domain/session/handlers.ts'
import type { SessionStatus } from '../../domain/session/statuses.ts'
import type { Queryable } from '../database.ts'

/** $2 are the kernel statuses that are asked about; `whose` narrows down which kernels. */
const MATCHES: Readonly<Record<KernelMatch, string>> = {
  ANY: 'EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($2::kernel_status[]) AND <whose>)',
  NOT_ANY: 'NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($2::kernel_status[]))',
  ALL: 'NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status <> ALL($2::kernel_status[]))',
}

/** A kernel that failed or ended before it ran is for the handler in charge, and holds a promotion up. */
const NONE_FAILED = `NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.started_at IS NULL
    AND (k.error IS NOT NULL OR k.status IN ('TERMINATED', 'ERROR', 'CANCELLED')))`

const UNCHANGED = { joins: '', sets: '', guard: 'true', whose: 'true', since: 'now()' }

/** What ends a running session: its main kernel's end, or any kernel's failure. A sub that ended well has done its part. */
const DECIDES = `(k.role = 'main' OR k.status <> 'TERMINATED' OR k.exit_code IS DISTINCT FROM 0)`

/** What a promotion needs and writes beyond the status, by what the session becomes. */
const BY_TARGET: Readonly<Partial<Record<SessionStatus, typeof UNCHANGED>>> = {
  // The time that preparing may take counts from its beginning, however long of it is pulling.
  PULLING: { ...UNCHANGED, since: 's.status_changed_at' },
  PREPARED: { ...UNCHANGED, guard: NONE_FAILED },
  RUNNING: {
    ...UNCHANGED,
    joins: `CROSS JOIN LATERAL (
      SELECT coalesce(min(k.started_at), now()) AS started_at FROM kernels k WHERE k.session_id = c.id) AS run`,
    sets: `, started_at = run.started_at, times_out_at = run.started_at + make_interval(secs => s.batch_timeout)`,
    guard: NONE_FAILED,
  },
  // The first that decides, decides; of two that were booked at once, the main kernel.
  TERMINATING: {
    ...UNCHANGED,
    joins: `CROSS JOIN LATERAL (
      SELECT k.status <> 'TERMINATED' OR k.exit_code IS DISTINCT FROM 0 AS failed, k.exit_code, k.error, k.reason,
        k.role || k.index || ' ended without an exit code' AS untold
      FROM kernels k WHERE k.session_id = c.id AND k.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND ${DECIDES}
      ORDER BY k.terminated_at, k.role = 'main' DESC, k.index LIMIT 1) AS ended`,
    sets: `, exit_code = ended.exit_code,
      result = CASE WHEN ended.failed THEN 'FAILURE'::session_result ELSE 'SUCCESS' END,
      status_reason = CASE WHEN ended.failed THEN coalesce(ended.error ->> 'message', ended.reason, ended.untold) END,
      status_data = CASE WHEN ended.failed THEN jsonb_build_object('error', coalesce(ended.error,
        jsonb_build_object('name', 'kernel-vanished', 'message', ended.untold))) END`,
    whose: DECIDES,
  },
  TERMINATED: { ...UNCHANGED, sets: ', terminated_at = now()' },
}

/**
 * One statement for a batch: claims the sessions that match, moves them, writes events and history.
 * Kernels keep their status. Index: sessions_active.
 */
function statementFor({ match, becomes }: PromotionDeclaration): string {
  const target = BY_TARGET[becomes] ?? UNCHANGED
  const status =
    becomes === 'TERMINATED' ? `CASE s.result WHEN 'FAILURE' THEN 'ERROR' ELSE 'TERMINATED' END` : `'${becomes}'`
  return `
WITH claimed AS (
  SELECT s.id, s.status AS "from" FROM sessions s
  WHERE s.status = ANY($1::session_status[]) AND ${MATCHES[match].replace('<whose>', target.whose)} AND ${target.guard}
  ORDER BY s.status_changed_at LIMIT $4
  FOR UPDATE OF s SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = (${status})::session_status, status_changed_at = ${target.since}, tries = 0, next_try_at = NULL
    ${target.sets}
  FROM claimed c ${target.joins}
  WHERE s.id = c.id
  RETURNING s.id, s.chain_id, s.project_id, s.status_reason, c."from", s.status AS "to", s.cluster_size
), events AS (
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT CASE "to" WHEN 'TERMINATED' THEN 'session.terminated' WHEN 'ERROR' THEN 'session.error'
      ELSE 'session.status_changed' END,
    id, chain_id, project_id, jsonb_build_object('from', "from", 'to', "to", 'reason', status_reason)
  FROM moved
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'SESSION', id, $3, "from"::text, "to"::text, 'SUCCESS', status_reason FROM moved
)
SELECT count(*) AS moved, count(*) FILTER (WHERE cluster_size > 1) AS clusters FROM moved`
}

const statements = new Map<string, string>()

/** How many sessions were promoted, as many as `limit` where there may be more; `clusters` of them have several kernels. */
export async function promoteSessions(
  db: Queryable,
  promotion: PromotionDeclaration,
  limit: number,
): Promise<{ moved: number; clusters: number }> {
  let statement = statements.get(promotion.name)
  if (statement === undefined) {
    statement = statementFor(promotion)
    statements.set(promotion.name, statement)
  }
  const values = [promotion.sessionIn, promotion.kernelStatuses, promotion.name, limit]
  return (await db.query<{ moved: number; clusters: number }>(statement, values)).rows[0]!
}

import type { KernelMatch, PromotionDeclaration } from '../../domain/session/handlers.ts'
import type { SessionStatus } from '../../domain/session/statuses.ts'
import type { Queryable } from '../database.ts'

/** $2 are the kernel statuses that are asked about. */
const MATCHES: Readonly<Record<KernelMatch, string>> = {
  ANY: 'EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($2::kernel_status[]))',
  NOT_ANY: 'NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($2::kernel_status[]))',
  ALL: 'NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status <> ALL($2::kernel_status[]))',
}

/** A kernel that failed or ended before it ran is for the handler in charge, and holds a promotion up. */
const NONE_FAILED = `NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.started_at IS NULL
    AND (k.error IS NOT NULL OR k.status IN ('TERMINATED', 'ERROR', 'CANCELLED')))`

const UNCHANGED = { joins: '', sets: '', guard: 'true' }

/** What a promotion needs and writes beyond the status, by what the session becomes. */
const BY_TARGET: Readonly<Partial<Record<SessionStatus, { joins: string; sets: string; guard: string }>>> = {
  PREPARED: { ...UNCHANGED, guard: NONE_FAILED },
  RUNNING: {
    joins: `CROSS JOIN LATERAL (
      SELECT coalesce(min(k.started_at), now()) AS started_at FROM kernels k WHERE k.session_id = c.id) AS run`,
    sets: `, started_at = run.started_at, times_out_at = run.started_at + make_interval(secs => s.batch_timeout)`,
    guard: NONE_FAILED,
  },
  // The first kernel that failed decides; else the main kernel, which alone can have succeeded for all.
  TERMINATING: {
    joins: `CROSS JOIN LATERAL (
      SELECT k.status = 'ERROR' OR k.exit_code IS DISTINCT FROM 0 AS failed, k.exit_code, k.error, k.reason,
        k.role || k.index AS kernel, k.role = 'main' AS main
      FROM kernels k WHERE k.session_id = c.id AND k.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
      ORDER BY failed DESC, CASE WHEN k.status = 'ERROR' OR k.exit_code IS DISTINCT FROM 0 THEN k.terminated_at END,
        k.role = 'main' DESC, k.terminated_at
      LIMIT 1) AS ended`,
    sets: `, exit_code = ended.exit_code,
      result = CASE WHEN ended.failed OR NOT ended.main THEN 'FAILURE'::session_result ELSE 'SUCCESS' END,
      status_reason = CASE WHEN ended.failed THEN coalesce(ended.error ->> 'message', ended.reason)
        WHEN NOT ended.main THEN ended.kernel || ' ended before main1' END,
      status_data = CASE WHEN ended.failed OR NOT ended.main THEN jsonb_build_object('error', coalesce(ended.error,
        jsonb_build_object('name', 'kernel-exited', 'message', ended.kernel || ' ended before main1'))) END`,
    guard: 'true',
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
  WHERE s.status = ANY($1::session_status[]) AND ${MATCHES[match]} AND ${target.guard}
  ORDER BY s.status_changed_at LIMIT $4
  FOR UPDATE OF s SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = (${status})::session_status, status_changed_at = now(), tries = 0, next_try_at = NULL
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

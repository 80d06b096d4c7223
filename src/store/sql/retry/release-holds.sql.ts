import type { HoldReason } from '../../../domain/session/causes.ts'
import type { Queryable } from '../../database.ts'
import { COUNTED_SESSIONS } from '../quota/quota-usage.sql.ts'
import type { SwitchKey } from './retry-switches.sql.ts'

/**
 * Moves held retries of a scope forward, `perTick` in each tick, one project after another. Retries that a dispatcher
 * is processing are not waited for: since the switch is locked, the dispatcher has either committed or will decide by
 * the new state.
 * Index: retry_decisions_held.
 */
const RELEASE_HELD_SQL = `
WITH held AS (
  SELECT d.session_id, d.ready_at, row_number() OVER (PARTITION BY d.project_id ORDER BY d.ready_at) AS turn
  FROM retry_decisions d
  WHERE d.phase = 'HELD' AND d.hold_reason = ANY($3::hold_reason[]) AND ($1 = 'CLUSTER' OR d.project_id IN (
    SELECT p.id FROM projects p WHERE CASE WHEN $1 = 'DOMAIN' THEN p.domain_id ELSE p.id END = $2::uuid))
), free AS (
  SELECT held.session_id, held.turn, held.ready_at FROM held JOIN retry_decisions d USING (session_id)
  WHERE d.phase = 'HELD' FOR UPDATE OF d SKIP LOCKED
), ordered AS (
  SELECT session_id, row_number() OVER (ORDER BY turn, ready_at) AS place FROM free
)
UPDATE retry_decisions d SET ready_at = reprise_now() + make_interval(secs => $5 / 1000.0 * ((place - 1) / $4))
FROM ordered o WHERE d.session_id = o.session_id`

export async function releaseHeld(
  tx: Queryable,
  key: SwitchKey,
  reasons: readonly HoldReason[],
  ramp: { perTick: number; tickMs: number },
): Promise<number> {
  const values = [key.scope, key.scopeId, reasons, ramp.perTick, ramp.tickMs]
  return (await tx.query(RELEASE_HELD_SQL, values)).rowCount ?? 0
}

/**
 * Moves retries held by limits on pending sessions forward as places become free: the first of every project, then the
 * second of every project, and so on. The dispatcher decides whether they go; it counts with the quotas locked. If no
 * quota holds anything, this costs one probe for each project with held retries. Index: retry_decisions_held. Decisions
 * that somebody else holds are skipped.
 */
const RELEASE_QUOTA_HOLDS_SQL = `
WITH RECURSIVE held AS (
  (SELECT d.project_id FROM retry_decisions d WHERE d.phase = 'HELD' ORDER BY d.project_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.project_id FROM retry_decisions d WHERE d.phase = 'HELD' AND d.project_id > held.project_id
    ORDER BY d.project_id LIMIT 1)
  FROM held WHERE held.project_id IS NOT NULL
), waiting AS MATERIALIZED (
  SELECT p.id AS project_id, p.domain_id FROM held JOIN projects p ON p.id = held.project_id
  WHERE EXISTS (SELECT FROM retry_decisions d
    WHERE d.phase = 'HELD' AND d.project_id = p.id AND d.hold_reason = 'QUOTA' AND d.ready_at > reprise_now())
), left_of_quotas AS MATERIALIZED (
  SELECT q.scope, q.scope_id,
    q.max_pending - (SELECT count(*) FROM ${COUNTED_SESSIONS} AS s WHERE s.status = 'PENDING') AS remaining
  FROM resource_policies q
  WHERE q.max_pending IS NOT NULL AND EXISTS (SELECT FROM waiting w
    WHERE q.scope = 'USER' OR q.scope_id IN (w.project_id, w.domain_id))
), first AS (
  SELECT w.project_id, w.domain_id, of_project.remaining AS project_left, of_domain.remaining AS domain_left, head.*
  FROM waiting w
  LEFT JOIN left_of_quotas of_project ON of_project.scope = 'PROJECT' AND of_project.scope_id = w.project_id
  LEFT JOIN left_of_quotas of_domain ON of_domain.scope = 'DOMAIN' AND of_domain.scope_id = w.domain_id
  CROSS JOIN LATERAL (
    SELECT d.session_id, d.ready_at, s.user_id, of_user.remaining AS user_left FROM retry_decisions d
    JOIN sessions s ON s.id = d.session_id
    LEFT JOIN left_of_quotas of_user ON of_user.scope = 'USER' AND of_user.scope_id = s.user_id
    WHERE d.phase = 'HELD' AND d.project_id = w.project_id AND d.hold_reason = 'QUOTA' AND d.ready_at > reprise_now()
      AND coalesce(of_user.remaining, 1) > 0
    ORDER BY d.ready_at LIMIT $1) AS head
  WHERE coalesce(of_project.remaining, 1) > 0 AND coalesce(of_domain.remaining, 1) > 0
), turns AS (
  SELECT first.*, row_number() OVER (PARTITION BY project_id ORDER BY ready_at) AS turn FROM first
), counted AS (
  SELECT session_id, turn, ready_at, turn <= coalesce(project_left, turn)
    AND row_number() OVER (PARTITION BY domain_id ORDER BY turn, ready_at) <= coalesce(domain_left, $1)
    AND row_number() OVER (PARTITION BY user_id ORDER BY turn, ready_at) <= coalesce(user_left, $1) AS fits
  FROM turns
), chosen AS (
  SELECT d.session_id FROM counted c JOIN retry_decisions d USING (session_id)
  WHERE c.fits AND d.phase = 'HELD' AND d.hold_reason = 'QUOTA'
  ORDER BY c.turn, c.ready_at LIMIT $1
  FOR UPDATE OF d SKIP LOCKED
)
UPDATE retry_decisions d SET ready_at = reprise_now() FROM chosen WHERE d.session_id = chosen.session_id`

/** Returns how many were moved forward. */
export async function releaseQuotaHolds(db: Queryable, limit: number): Promise<number> {
  return (await db.query(RELEASE_QUOTA_HOLDS_SQL, [limit])).rowCount ?? 0
}

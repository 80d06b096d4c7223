import type { HoldReason } from '../../../domain/session/causes.ts'
import type { Queryable } from '../../database.ts'
import type { SwitchKey } from './set-retry-switch.sql.ts'

/**
 * Moves held retries of a scope forward, `perTick` in each tick, one project after another. Retries that a dispatcher
 * is processing are not waited for: since the switch is locked, the dispatcher has either committed or will decide by
 * the new state.
 * Index: retry_decisions_held.
 */
const SQL = `
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
UPDATE retry_decisions d SET ready_at = now() + make_interval(secs => $5 / 1000.0 * ((place - 1) / $4))
FROM ordered o WHERE d.session_id = o.session_id`

export async function releaseHeld(
  tx: Queryable,
  key: SwitchKey,
  reasons: readonly HoldReason[],
  ramp: { perTick: number; tickMs: number },
): Promise<number> {
  const values = [key.scope, key.scopeId, reasons, ramp.perTick, ramp.tickMs]
  return (await tx.query(SQL, values)).rowCount ?? 0
}

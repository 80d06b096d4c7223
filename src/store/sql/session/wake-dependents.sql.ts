import type { Queryable } from '../../database.ts'

/**
 * Makes sessions that rest because they depend on one of these chains due at once. A session that was already
 * rescheduled rests for another reason and is left alone. A session missed here (somebody holds it) becomes due after
 * its own pause.
 * Index: session_dependencies_chain_id. Locks: pending sessions in id order.
 */
const SQL = `
WITH dependents AS (
  SELECT s.id FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
  WHERE d.chain_id = ANY($1) AND s.status = 'PENDING' AND s.next_try_at > now() AND s.reschedules = 0
  ORDER BY s.id FOR UPDATE OF s SKIP LOCKED
)
UPDATE sessions s SET next_try_at = now() FROM dependents WHERE s.id = dependents.id`

export async function wakeDependents(tx: Queryable, chainIds: readonly string[]): Promise<void> {
  if (chainIds.length > 0) await tx.query(SQL, [chainIds])
}

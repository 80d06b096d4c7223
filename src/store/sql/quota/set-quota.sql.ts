import type { QuotaKey, QuotaLimits } from '../../../domain/quota/quota.ts'
import type { Queryable } from '../../database.ts'

const FIRST_SQL = `SELECT pg_advisory_xact_lock(hashtext('reprise:quota'), hashtext($1))`
const LOCK_SQL = `
SELECT slots, max_running AS "maxRunning", max_pending AS "maxPending" FROM resource_policies
WHERE scope = $1 AND scope_id = $2 FOR UPDATE`
const WRITE_SQL = `
INSERT INTO resource_policies (scope, scope_id, slots, max_running, max_pending) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (scope, scope_id) DO UPDATE SET slots = EXCLUDED.slots, max_running = EXCLUDED.max_running,
  max_pending = EXCLUDED.max_pending, updated_at = now()`
const CLEAR_SQL = `DELETE FROM resource_policies WHERE scope = $1 AND scope_id = $2`

/**
 * The present limits, locked for the transaction; undefined if none are set. Waits for transactions that count by them.
 * Two that set the first quota of a scope have no row to lock, so an advisory lock serialises them.
 */
export async function lockQuota(tx: Queryable, { scope, scopeId }: QuotaKey): Promise<QuotaLimits | undefined> {
  await tx.query(FIRST_SQL, [`${scope}/${scopeId}`])
  return (await tx.query<QuotaLimits>(LOCK_SQL, [scope, scopeId])).rows[0]
}

/** A quota that limits nothing is deleted. */
export async function writeQuota(tx: Queryable, { scope, scopeId }: QuotaKey, limits: QuotaLimits): Promise<void> {
  const { slots, maxRunning, maxPending } = limits
  const limitsNothing = Object.keys(slots).length === 0 && maxRunning === null && maxPending === null
  await (limitsNothing
    ? tx.query(CLEAR_SQL, [scope, scopeId])
    : tx.query(WRITE_SQL, [scope, scopeId, JSON.stringify(slots), maxRunning, maxPending]))
}

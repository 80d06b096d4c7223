import type { Queryable } from '../../database.ts'

/**
 * The state of the chains that session `s` depends on: `total` and `open` are counts, `failed` is the last session of a
 * chain that is over without having succeeded.
 */
export const DEPENDENCIES = `(
  SELECT count(*) AS total,
    count(*) FILTER (WHERE c.state <> 'SUCCEEDED') AS open,
    (array_agg(c.tail_id::text) FILTER (WHERE c.state <> 'SUCCEEDED' AND chain_is_over(c.state)))[1] AS failed
  FROM session_dependencies sd JOIN chains c ON c.chain_id = sd.chain_id
  WHERE sd.session_id = s.id
)`

/** A session that waits, or waited, for a chain. */
export interface DependentRow {
  dependsOn: string
  id: string
}

/** The first of each chain, oldest first. Index: session_dependencies(chain_id). */
const DEPENDENTS_SQL = `
SELECT page.* FROM unnest($1::uuid[]) AS wanted(id), LATERAL (
  SELECT d.chain_id AS "dependsOn", s.id FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
  WHERE d.chain_id = wanted.id AND s.attempt = 1 AND ($2::uuid IS NULL OR s.project_id = $2)
  ORDER BY s.id LIMIT $3) AS page`

/** First attempts that depend on these chains, at most `limit` for each. */
export async function readDependents(
  db: Queryable,
  chainIds: readonly string[],
  visibleProjectId: string | null,
  limit: number,
): Promise<DependentRow[]> {
  return (await db.query<DependentRow>(DEPENDENTS_SQL, [chainIds, visibleProjectId, limit])).rows
}

/**
 * Makes sessions that rest because they depend on one of these chains due at once. A session that was already
 * rescheduled rests for another reason and is left alone. A session missed here (somebody holds it) becomes due after
 * its own pause.
 * Index: session_dependencies_chain_id. Locks: pending sessions in id order.
 */
const WAKE_DEPENDENTS_SQL = `
WITH dependents AS (
  SELECT s.id FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
  WHERE d.chain_id = ANY($1) AND s.status = 'PENDING' AND s.next_try_at > reprise_now() AND s.reschedules = 0
  ORDER BY s.id FOR UPDATE OF s SKIP LOCKED
)
UPDATE sessions s SET next_try_at = reprise_now() FROM dependents WHERE s.id = dependents.id`

export async function wakeDependents(tx: Queryable, chainIds: readonly string[]): Promise<void> {
  if (chainIds.length > 0) await tx.query(WAKE_DEPENDENTS_SQL, [chainIds])
}

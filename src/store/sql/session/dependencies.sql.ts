import type { Queryable } from '../../database.ts'

/**
 * The state of the chains that session `s` depends on: `total` and `open` are counts, `failed` is the last session of a
 * chain that has failed for good. A chain has succeeded when its newest session has; it has failed for good when that
 * session has ended and its retry decision leads to no further attempt.
 */
export const DEPENDENCIES = `(
  SELECT count(*) AS total,
    count(*) FILTER (WHERE tail.result <> 'SUCCESS' OR tail.status NOT IN ('TERMINATED')) AS open,
    (array_agg(tail.id::text) FILTER (WHERE tail.retry_decided AND tail.result <> 'SUCCESS'
      AND tail.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
      AND coalesce(r.phase, 'NONE') NOT IN ('SCHEDULED', 'HELD', 'DISPATCHED')))[1] AS failed
  FROM session_dependencies sd
  CROSS JOIN LATERAL (
    SELECT t.* FROM sessions t WHERE t.chain_id = sd.chain_id ORDER BY t.attempt DESC LIMIT 1) AS tail
  LEFT JOIN retry_decisions r ON r.session_id = tail.id
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

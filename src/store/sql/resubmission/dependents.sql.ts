import type { Dependent } from '../../../domain/resubmission/order-dependents.ts'
import type { Queryable } from '../../database.ts'

/**
 * From the chains `roots`: the newest sessions of those that were cancelled because a dependency failed, this one or one
 * that was itself cancelled for one of them; not the roots themselves. Index: session_dependencies_chain_id.
 */
const dependentsOf = (roots: string) => `roots AS MATERIALIZED (${roots}), found AS (
  SELECT chain_id FROM roots
  UNION
  SELECT t.chain_id FROM found f JOIN session_dependencies d ON d.chain_id = f.chain_id
  JOIN sessions t ON t.id = d.session_id AND t.status = 'CANCELLED'
    AND t.status_data -> 'error' ->> 'name' = 'dependency-failed' AND ($2::uuid IS NULL OR t.project_id = $2)
  JOIN chains c ON c.chain_id = t.chain_id AND c.tail_id = t.id
), dependents AS (
  SELECT c.chain_id, c.tail_id FROM found JOIN chains c USING (chain_id)
  WHERE NOT EXISTS (SELECT FROM roots WHERE roots.chain_id = found.chain_id)
)`

const READ_SQL = `
WITH RECURSIVE ${dependentsOf('SELECT DISTINCT s.chain_id FROM sessions s WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)')}
SELECT e.tail_id AS id, e.chain_id AS "chainId",
  ARRAY(SELECT d.chain_id FROM session_dependencies d WHERE d.session_id = e.tail_id) AS "dependsOn"
FROM dependents e LIMIT $3`

/** Of the chains of these sessions. */
export async function readCancelledDependents(
  db: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
  limit: number,
): Promise<Dependent[]> {
  return (await db.query<Dependent>(READ_SQL, [sessionIds, visibleProjectId, limit])).rows
}

const COUNT_SQL = `
WITH RECURSIVE ${dependentsOf(`SELECT DISTINCT s.chain_id FROM resubmission_items i JOIN sessions s ON s.id = i.session_id
  WHERE i.resubmission_id = $1`)}
SELECT count(*)::int AS count FROM dependents`

/** Of the chains of all sessions of this resubmission. */
export async function countCancelledDependents(
  db: Queryable,
  resubmissionId: string,
  visibleProjectId: string | null,
): Promise<number> {
  return (await db.query<{ count: number }>(COUNT_SQL, [resubmissionId, visibleProjectId])).rows[0]!.count
}

const FAILED_SQL = `
SELECT c.chain_id AS "chainId", c.tail_id AS "tailId" FROM chains c
WHERE c.chain_id = ANY($1::uuid[]) AND c.state <> 'SUCCEEDED' AND chain_is_over(c.state)`

/** Those of these chains that are over without having succeeded, with their newest sessions. */
export async function readFailedChains(db: Queryable, chainIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ chainId: string; tailId: string }>(FAILED_SQL, [[...new Set(chainIds)]])
  return new Map(rows.map(({ chainId, tailId }) => [chainId, tailId]))
}

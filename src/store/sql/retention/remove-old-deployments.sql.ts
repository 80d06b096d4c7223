import type { Queryable } from '../../database.ts'
import type { ChainBound } from '../chain/read-chain-bounds.sql.ts'

/**
 * Deletes deployments destroyed before the oldest kept chain, once their routes are gone with their sessions; with
 * their revisions and their history. Index: deployments(project_id, …). Locks: deployments.
 */
const SQL = `
WITH old AS (
  SELECT id FROM deployments d WHERE project_id = $1 AND status = 'DESTROYED' AND destroyed_at < $2
    AND NOT EXISTS (SELECT FROM routes r WHERE r.deployment_id = d.id)
  ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
), history AS (
  DELETE FROM scheduling_history h USING old WHERE h.entity_id = old.id
)
DELETE FROM deployments d USING old WHERE d.id = old.id`

export async function removeOldDeployments(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(SQL, [projectId, before, limit])).rowCount ?? 0
}

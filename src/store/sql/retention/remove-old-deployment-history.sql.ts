import type { Queryable } from '../../database.ts'
import type { ChainBound } from '../chain/read-chain-bounds.sql.ts'

/** Deletes old history of deployments that still exist. Index: the primary key of the history. */
const SQL = `
WITH old AS MATERIALIZED (
  SELECT h.entity_id, h.id FROM deployments d JOIN scheduling_history h ON h.entity_id = d.id
  WHERE d.project_id = $1 AND d.status <> 'DESTROYED' AND h.last_at < $2
  LIMIT $3
)
DELETE FROM scheduling_history h USING old WHERE h.entity_id = old.entity_id AND h.id = old.id`

export async function removeOldDeploymentHistory(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(SQL, [projectId, before, limit])).rowCount ?? 0
}

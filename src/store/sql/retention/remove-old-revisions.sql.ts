import type { Queryable } from '../../database.ts'
import type { ChainBound } from '../chain/read-chain-bounds.sql.ts'

/**
 * Deletes revisions that were replaced before $2 and that no route uses any more, in whatever status.
 * Indexes: deployments(project_id, …), the primary key of revisions, routes(deployment_id, …).
 */
const SQL = `
WITH old AS MATERIALIZED (
  SELECT v.deployment_id, v.revision FROM deployments d JOIN deployment_revisions v ON v.deployment_id = d.id
  WHERE d.project_id = $1 AND d.status <> 'DESTROYED' AND v.revision < d.revision
    AND EXISTS (SELECT FROM deployment_revisions n
      WHERE n.deployment_id = v.deployment_id AND n.revision > v.revision AND n.created_at < $2)
    AND NOT EXISTS (SELECT FROM routes r WHERE r.deployment_id = v.deployment_id AND r.revision = v.revision)
  LIMIT $3 FOR UPDATE OF v SKIP LOCKED
)
DELETE FROM deployment_revisions v USING old WHERE v.deployment_id = old.deployment_id AND v.revision = old.revision`

export async function removeOldRevisions(
  db: Queryable,
  { projectId, before }: ChainBound,
  limit: number,
): Promise<number> {
  return (await db.query(SQL, [projectId, before, limit])).rowCount ?? 0
}

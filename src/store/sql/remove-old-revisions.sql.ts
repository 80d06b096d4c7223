import type { Queryable } from '../database.ts'
import type { ChainBound } from './remove-old-chains.sql.ts'

/**
 * Revisions that were replaced so long ago and that no route has any more, in whatever status.
 * Indexes: deployments(project_id, …), the primary key of revisions, routes(deployment_id, …).
 */
const REVISIONS_SQL = `
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
  return (await db.query(REVISIONS_SQL, [projectId, before, limit])).rowCount ?? 0
}

/** What deployments that live went through so long ago. Index: the primary key of the history. */
const HISTORY_SQL = `
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
  return (await db.query(HISTORY_SQL, [projectId, before, limit])).rowCount ?? 0
}

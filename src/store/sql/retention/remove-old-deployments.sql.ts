import type { Queryable } from '../../database.ts'
import type { ChainBound } from '../chain/read-chain-bounds.sql.ts'

/**
 * Deletes deployments destroyed before the oldest kept chain, once their routes are gone with their sessions; with
 * their revisions and their history. Index: deployments(project_id, …). Locks: deployments.
 */
const REMOVE_OLD_DEPLOYMENTS_SQL = `
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
  return (await db.query(REMOVE_OLD_DEPLOYMENTS_SQL, [projectId, before, limit])).rowCount ?? 0
}

/** Deletes old history of deployments that still exist. Index: the primary key of the history. */
const REMOVE_OLD_DEPLOYMENT_HISTORY_SQL = `
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
  return (await db.query(REMOVE_OLD_DEPLOYMENT_HISTORY_SQL, [projectId, before, limit])).rowCount ?? 0
}

/**
 * Deletes revisions that were replaced before $2 and that no route uses any more, in whatever status.
 * Indexes: deployments(project_id, …), the primary key of revisions, routes(deployment_id, …).
 */
const REMOVE_OLD_REVISIONS_SQL = `
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
  return (await db.query(REMOVE_OLD_REVISIONS_SQL, [projectId, before, limit])).rowCount ?? 0
}

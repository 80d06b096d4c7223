import type { Database } from '../../database.ts'
import type { ChainBound } from '../chain/read-chain-bounds.sql.ts'

/**
 * Finished chains, oldest first, that nothing waits for and that have nothing still running.
 * Index: chains(project_id, state, newest_activity_at), once for each final state. Locks: chains.
 */
const CLAIM_SQL = `
SELECT c.chain_id AS id FROM unnest(ARRAY['SUCCEEDED', 'FAILED', 'CANCELLED']::chain_state[]) AS final(state)
CROSS JOIN LATERAL (
  SELECT chain_id FROM chains
  WHERE project_id = $1 AND state = final.state AND newest_activity_at < $2
    AND NOT EXISTS (SELECT FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
      WHERE d.chain_id = chains.chain_id AND s.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED'))
    AND NOT EXISTS (SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
      WHERE s.chain_id = chains.chain_id AND NOT k.confirmed_gone)
    AND NOT EXISTS (SELECT FROM sessions s JOIN routes r ON r.session_id = s.id
      WHERE s.chain_id = chains.chain_id AND r.status <> 'TERMINATED')
  ORDER BY newest_activity_at LIMIT $3 FOR UPDATE SKIP LOCKED
) AS c LIMIT $3`

/** Deletes logs, history and sessions; kernels, decisions, dependencies and routes are deleted with their sessions. */
const REMOVE_SQL = `
WITH gone AS (SELECT id FROM sessions WHERE chain_id = ANY($1::uuid[])),
gone_kernels AS (SELECT k.id FROM kernels k JOIN gone ON gone.id = k.session_id),
gone_routes AS (SELECT r.id FROM routes r JOIN gone ON gone.id = r.session_id),
logs AS (DELETE FROM kernel_logs WHERE kernel_id IN (SELECT id FROM gone_kernels)),
history AS (DELETE FROM scheduling_history
  WHERE entity_id IN (SELECT id FROM gone UNION ALL SELECT id FROM gone_kernels UNION ALL SELECT id FROM gone_routes))
DELETE FROM sessions WHERE id IN (SELECT id FROM gone) RETURNING id`

/** Deletes the items of resubmissions whose children are gone. Index: resubmission_items(child_session_id). */
const ITEMS_SQL = `DELETE FROM resubmission_items WHERE child_session_id = ANY($1::uuid[]) RETURNING resubmission_id AS id`
const RESUBMISSIONS_SQL = `
DELETE FROM resubmissions r WHERE r.id = ANY($1::uuid[]) AND r.state <> 'RUNNING'
  AND NOT EXISTS (SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id)`

/** One bounded transaction; returns how many chains were deleted. */
export async function removeOldChains(db: Database, { projectId, before }: ChainBound, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const chainIds = ids(await tx.query<{ id: string }>(CLAIM_SQL, [projectId, before, limit]))
    if (chainIds.length === 0) return 0
    const sessionIds = ids(await tx.query<{ id: string }>(REMOVE_SQL, [chainIds]))
    const items = ids(await tx.query<{ id: string }>(ITEMS_SQL, [sessionIds]))
    if (items.length > 0) await tx.query(RESUBMISSIONS_SQL, [items])
    return chainIds.length
  })
}

function ids({ rows }: { rows: { id: string }[] }): string[] {
  return rows.map(({ id }) => id)
}

/** Finished before $1, with no child left: children go with their chains. */
const CHILDLESS = `r.finished_at < $1 AND NOT EXISTS (
    SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id AND i.child_session_id IS NOT NULL)`

/**
 * Items that were refused or never processed, of resubmissions without a child: they are kept no longer than the
 * session that they name.
 * Indexes: resubmissions_finished_at, the primary keys.
 */
const OLD_ITEMS_SQL = `
WITH old AS MATERIALIZED (
  SELECT i.resubmission_id, i.position FROM resubmissions r JOIN resubmission_items i ON i.resubmission_id = r.id
  WHERE ${CHILDLESS} AND (i.code = 'SESSION_NOT_FOUND' OR NOT EXISTS (SELECT FROM sessions s WHERE s.id = i.session_id))
  LIMIT $2
)
DELETE FROM resubmission_items i USING old WHERE i.resubmission_id = old.resubmission_id AND i.position = old.position`

const EMPTY_SQL = `
DELETE FROM resubmissions WHERE id IN (
  SELECT r.id FROM resubmissions r WHERE r.finished_at < $1
    AND NOT EXISTS (SELECT FROM resubmission_items i WHERE i.resubmission_id = r.id)
  ORDER BY r.finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

/**
 * Deletes items, and resubmissions that have none left; at most `limit` of each. Returns how many items were deleted.
 */
export async function removeOldResubmissions(db: Database, before: Date, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const items = (await tx.query(OLD_ITEMS_SQL, [before, limit])).rowCount ?? 0
    await tx.query(EMPTY_SQL, [before, limit])
    return items
  })
}

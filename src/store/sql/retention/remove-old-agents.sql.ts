import type { Retention } from '../../../domain/retention.ts'
import type { Queryable } from '../../database.ts'

/**
 * Deletes agents gone since before $1 and since before the oldest kept session: their kernels belonged to older
 * sessions, so none is left. Agents that a person is draining are kept. Slots are deleted with their agents.
 * Indexes: sessions(created_at, id); agents, which are few, are scanned. The foreign key makes each deletion read
 * kernels.
 */
const REMOVE_OLD_AGENTS_SQL = `
DELETE FROM agents WHERE id IN (
  SELECT a.id FROM agents a
  WHERE a.status IN ('LOST', 'TERMINATED') AND a.drained_at IS NULL AND greatest(a.last_heard_at, a.lease_from) < least($1,
    (SELECT created_at FROM sessions ORDER BY created_at, id LIMIT 1) - interval '1 hour')
  ORDER BY a.last_heard_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

export async function removeOldAgents(db: Queryable, before: Date, limit: number): Promise<number> {
  return (await db.query(REMOVE_OLD_AGENTS_SQL, [before, limit])).rowCount ?? 0
}

/**
 * Deletes stores that no agent has, and in which no checkpoint is. Checkpoints are scanned only where there is a store
 * without an agent.
 */
const REMOVE_OLD_STORES_SQL = `
WITH without_agent AS MATERIALIZED (
  SELECT g.store FROM chain_store_groups g WHERE NOT EXISTS (SELECT FROM agents a WHERE a.chain_store = g.store)
), unused AS (
  SELECT g.store, g.resource_group FROM chain_store_groups g JOIN without_agent USING (store)
  WHERE NOT EXISTS (SELECT FROM checkpoints c WHERE c.store = g.store)
  LIMIT $1 FOR UPDATE OF g SKIP LOCKED
)
DELETE FROM chain_store_groups g USING unused WHERE g.store = unused.store AND g.resource_group = unused.resource_group`

export async function removeOldStores(db: Queryable, limit: number): Promise<number> {
  return (await db.query(REMOVE_OLD_STORES_SQL, [limit])).rowCount ?? 0
}

/**
 * Deletes old history of agents only: that of sessions and kernels goes with their chains. Index:
 * scheduling_history_agents.
 */
const REMOVE_OLD_AGENT_HISTORY_SQL = `
WITH oldest AS (
  SELECT entity_id, id, last_at FROM scheduling_history WHERE entity = 'AGENT' ORDER BY id LIMIT $3
)
DELETE FROM scheduling_history h USING oldest o WHERE h.entity_id = o.entity_id AND h.id = o.id
  AND (o.last_at < reprise_now() - make_interval(secs => $1::float8)
    OR o.id <= (SELECT id FROM scheduling_history WHERE entity = 'AGENT' ORDER BY id DESC OFFSET $2::int8
      LIMIT CASE WHEN $2::int8 IS NULL THEN 0 ELSE 1 END))`

export async function removeOldAgentHistory(
  db: Queryable,
  { ageSeconds, count }: Retention,
  limit: number,
): Promise<number> {
  return (await db.query(REMOVE_OLD_AGENT_HISTORY_SQL, [ageSeconds, count, limit])).rowCount ?? 0
}

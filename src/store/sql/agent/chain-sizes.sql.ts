import type { ChainSize } from '../../../domain/agent/protocol.ts'
import type { Queryable } from '../../database.ts'

/**
 * Records what the directories of chains take of which the agent has kernels that are not settled, or whose checkpoint
 * is in its store. What another store has on record stays: an attempt that runs elsewhere is measured at its end. No
 * report begins a generation. Locks: checkpoints, in the order of their chains. Indexes: primary keys,
 * kernels_on_agent.
 */
const SQL = `
WITH here AS (
  SELECT chain_store FROM agents WHERE id = $1
), own AS (
  SELECT DISTINCT s.chain_id FROM kernels k JOIN sessions s ON s.id = k.session_id
  WHERE k.agent_id = $1 AND (k.slots_held OR NOT k.confirmed_gone) AND s.chain_id = ANY($2::uuid[])
  UNION
  SELECT p.chain_id FROM checkpoints p JOIN here ON p.store = here.chain_store WHERE p.chain_id = ANY($2)
)
INSERT INTO checkpoints AS c (chain_id, project_id, generation, bytes)
SELECT DISTINCT ON (root.id) root.id, root.project_id, m.generation, m.bytes
FROM unnest($2::uuid[], $3::int[], $4::bigint[]) AS m(chain_id, generation, bytes)
JOIN own USING (chain_id) JOIN sessions root ON root.id = m.chain_id CROSS JOIN here
LEFT JOIN checkpoints r ON r.chain_id = m.chain_id
WHERE m.generation = coalesce(r.generation, 0) AND r.dropped_at IS NULL AND coalesce(r.store = here.chain_store, true)
ORDER BY root.id
ON CONFLICT (chain_id) DO UPDATE SET bytes = excluded.bytes
WHERE c.generation = excluded.generation AND c.dropped_at IS NULL
  AND coalesce(c.store = (SELECT chain_store FROM here), true)`

export async function recordChainSizes(db: Queryable, agentId: string, sizes: readonly ChainSize[]): Promise<void> {
  if (sizes.length === 0) return
  await db.query(SQL, [
    agentId,
    sizes.map(({ chainId }) => chainId),
    sizes.map(({ generation }) => generation),
    sizes.map(({ bytes }) => bytes),
  ])
}

import type { ChainReport } from '../../../domain/agent/protocol.ts'
import { DROPPED_CHAINS_MAX } from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'

/**
 * Remembers of which existing chains an agent keeps a directory, provided that some kernel of the chain was given to
 * it, or that the chain's checkpoint is in its store, and returns those remembered whose chain is gone. So a chain that
 * this database has never seen, because it was restored from a dump or is another one altogether, is not taken for a
 * removed one; and an agent learns nothing of chains that it did not run. Rows: one for each directory. Indexes: primary
 * key, sessions(chain_id, attempt), kernels(session_id), checkpoints, agents.
 */
const SQL = `
WITH reported AS (
  SELECT DISTINCT unnest($2::uuid[]) AS chain_id
), left_behind AS (
  DELETE FROM chain_directories d WHERE agent_id = $1
    AND ($3::uuid IS NULL OR chain_id > $3) AND ($4::uuid IS NULL OR chain_id <= $4)
    AND NOT EXISTS (SELECT FROM reported t WHERE t.chain_id = d.chain_id)
), added AS (
  INSERT INTO chain_directories (agent_id, chain_id)
  SELECT $1, t.chain_id FROM reported t
  WHERE NOT EXISTS (SELECT FROM chain_directories d WHERE d.agent_id = $1 AND d.chain_id = t.chain_id)
    AND (EXISTS (SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
        WHERE s.chain_id = t.chain_id AND k.agent_id = $1)
      OR EXISTS (SELECT FROM checkpoints p JOIN agents a ON a.chain_store = p.store
        WHERE p.chain_id = t.chain_id AND a.id = $1))
  ON CONFLICT DO NOTHING
)
SELECT d.chain_id AS id FROM reported JOIN chain_directories d USING (chain_id)
WHERE d.agent_id = $1 AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id = d.chain_id)
ORDER BY d.chain_id LIMIT $5`

/** @returns removed chains among those reported */
export async function recordChainDirectories(
  db: Queryable,
  agentId: string,
  { after, upTo, chainIds }: ChainReport,
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(SQL, [agentId, chainIds, after, upTo, DROPPED_CHAINS_MAX])
  return rows.map(({ id }) => id)
}

const PAST_SQL = `
SELECT p.chain_id AS "chainId", p.generation AS before
FROM unnest($2::uuid[], $3::int[]) AS t(chain_id, oldest) JOIN checkpoints p ON p.chain_id = t.chain_id
WHERE p.generation > t.oldest AND (EXISTS (SELECT FROM chain_directories d WHERE d.agent_id = $1 AND d.chain_id = t.chain_id)
  OR p.store = (SELECT a.chain_store FROM agents a WHERE a.id = $1))
ORDER BY p.chain_id LIMIT $4`

/** Of the chains reported: those with directories of generations that are over, and from which on they are not. */
export async function readPastGenerations(
  db: Queryable,
  agentId: string,
  { chainIds, generations = {} }: ChainReport,
): Promise<{ chainId: string; before: number }[]> {
  const oldest = chainIds.map((chainId) => generations[chainId] ?? 0)
  const { rows } = await db.query<{ chainId: string; before: number }>(PAST_SQL, [
    agentId,
    chainIds,
    oldest,
    DROPPED_CHAINS_MAX,
  ])
  return rows
}

import type { Queryable } from '../../database.ts'

/**
 * Locks: checkpoints, in the order of their chains, as reports of agents do. A report about an attempt of an earlier
 * generation finds another one on record, however late it comes, and changes nothing.
 */
const SQL = `
INSERT INTO checkpoints AS c (chain_id, project_id, generation)
SELECT s.id, s.project_id, 1 FROM sessions s WHERE s.id = ANY($1::uuid[]) ORDER BY s.id
ON CONFLICT (chain_id) DO UPDATE SET generation = c.generation + 1, attempt = NULL, assignment = NULL, store = NULL, files = NULL,
  bytes = NULL, newest_at = NULL, published_at = NULL, dropped_at = NULL, relay_attempt = NULL, relay_sha256 = NULL,
  relay_bytes = NULL, relay_at = NULL`

/** The next attempt of these chains has a directory of its own, with nothing in it. */
export async function beginGenerations(tx: Queryable, chainIds: readonly string[]): Promise<void> {
  await tx.query(SQL, [chainIds])
}

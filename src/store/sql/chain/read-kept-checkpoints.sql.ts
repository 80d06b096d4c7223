import type { Queryable } from '../../database.ts'

/** What the attempts of a chain have stored for each other. */
export interface KeptCheckpointRow {
  chainId: string
  /** As last measured; null if nobody has. */
  bytes: number | null
  /** The newest that has left something; null for none yet. */
  attempt: number | null
  publishedAt: Date | null
  /** When the servers' copy of that attempt was made; null for none. */
  copiedAt: Date | null
}

const SQL = `
SELECT chain_id AS "chainId", bytes::float8 AS bytes, attempt, published_at AS "publishedAt",
  CASE WHEN relay_attempt = attempt THEN relay_at END AS "copiedAt"
FROM checkpoints WHERE chain_id = ANY($1::uuid[]) AND dropped_at IS NULL`

/** Chains that store nothing are not among the rows. */
export async function readKeptCheckpoints(db: Queryable, chainIds: readonly string[]): Promise<KeptCheckpointRow[]> {
  return (await db.query<KeptCheckpointRow>(SQL, [chainIds])).rows
}

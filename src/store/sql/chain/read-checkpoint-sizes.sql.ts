import type { Queryable } from '../../database.ts'

export interface CheckpointSizeRow {
  chainId: string
  bytes: number
}

const SQL = `
SELECT chain_id AS "chainId", bytes::float8 AS bytes FROM checkpoints
WHERE chain_id = ANY($1::uuid[]) AND bytes IS NOT NULL AND dropped_at IS NULL`

/** As last measured. Chains that store nothing, or have not been measured, are not among the rows. */
export async function readCheckpointSizes(db: Queryable, chainIds: readonly string[]): Promise<CheckpointSizeRow[]> {
  return (await db.query<CheckpointSizeRow>(SQL, [chainIds])).rows
}

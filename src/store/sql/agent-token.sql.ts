import type { Queryable } from '../database.ts'

const SQL = `SELECT token_id AS "tokenId" FROM agents WHERE id = $1`

/** With which token an agent registered; null where it did without one. Undefined where no such agent is known. */
export async function readAgentToken(db: Queryable, agentId: string): Promise<{ tokenId: string | null } | undefined> {
  return (await db.query<{ tokenId: string | null }>(SQL, [agentId])).rows[0]
}

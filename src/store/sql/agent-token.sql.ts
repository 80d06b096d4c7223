import type { Queryable } from '../database.ts'

const SQL = `SELECT token_id AS "tokenId" FROM agents WHERE id = $1`

/** The token that an agent registered with; null if it registered without one, undefined if the agent is unknown. */
export async function readAgentToken(db: Queryable, agentId: string): Promise<{ tokenId: string | null } | undefined> {
  return (await db.query<{ tokenId: string | null }>(SQL, [agentId])).rows[0]
}

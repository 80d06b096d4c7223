import type { Queryable } from '../../database.ts'

export interface AgentOwner {
  /** Null if it registered without a token. */
  tokenId: string | null
  resourceGroup: string
}

const SQL = `SELECT token_id AS "tokenId", resource_group AS "resourceGroup" FROM agents WHERE id = $1`

/** The token that an agent registered with, and its group; undefined if the agent is unknown. */
export async function readAgentToken(db: Queryable, agentId: string): Promise<AgentOwner | undefined> {
  return (await db.query<AgentOwner>(SQL, [agentId])).rows[0]
}

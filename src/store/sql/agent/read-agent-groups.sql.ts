import type { Queryable } from '../../database.ts'

const SQL = `SELECT id, resource_group AS "resourceGroup" FROM agents WHERE id = ANY($1::uuid[])`

/** Resource group by agent id; unknown agents are missing. */
export async function readAgentGroups(db: Queryable, agentIds: readonly string[]): Promise<Map<string, string>> {
  if (agentIds.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; resourceGroup: string }>(SQL, [agentIds])
  return new Map(rows.map(({ id, resourceGroup }) => [id, resourceGroup]))
}

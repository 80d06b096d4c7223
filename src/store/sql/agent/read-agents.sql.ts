import type { GroupAgent } from '../../../domain/retry/choose-group.ts'
import type { Queryable } from '../../database.ts'

const READ_AGENT_GROUPS_SQL = `SELECT id, resource_group AS "resourceGroup" FROM agents WHERE id = ANY($1::uuid[])`

/** Resource group by agent id; unknown agents are missing. */
export async function readAgentGroups(db: Queryable, agentIds: readonly string[]): Promise<Map<string, string>> {
  if (agentIds.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; resourceGroup: string }>(READ_AGENT_GROUPS_SQL, [agentIds])
  return new Map(rows.map(({ id, resourceGroup }) => [id, resourceGroup]))
}

const READ_ALIVE_AGENTS_SQL = `
SELECT a.id, a.resource_group AS "resourceGroup", a.labels,
  coalesce((SELECT jsonb_object_agg(s.slot, s.declared::text) FROM agent_slots s WHERE s.agent_id = a.id), '{}') AS capacity,
  a.slots_per_kernel_max AS "perKernel", a.volumes
FROM agents a JOIN resource_groups g ON g.name = a.resource_group
WHERE a.status = 'ALIVE' AND a.refuses IS NULL AND g.drained_at IS NULL AND 'BATCH' = ANY(g.allowed_session_types)`

/** Alive agents of all groups that accept new batch sessions. */
export async function readAliveAgents(db: Queryable): Promise<GroupAgent[]> {
  return (await db.query<GroupAgent>(READ_ALIVE_AGENTS_SQL)).rows
}

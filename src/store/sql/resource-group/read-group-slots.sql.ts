import type { Queryable } from '../../database.ts'

/** The capacity and use of one resource over the agents of a group, as plain decimals. */
export interface GroupSlotRow {
  resourceGroup: string
  slot: string
  capacity: string
  used: string
  agents: number
}

/** Lost and terminated agents do not count. */
const SQL = `
SELECT a.resource_group AS "resourceGroup", s.slot, trim_scale(sum(s.capacity))::text AS capacity,
  trim_scale(sum(s.used))::text AS used, count(*) AS agents
FROM agents a JOIN agent_slots s ON s.agent_id = a.id
WHERE a.resource_group = ANY($1::text[]) AND a.status IN ('ALIVE', 'SUSPECT', 'DRAINING')
GROUP BY a.resource_group, s.slot ORDER BY a.resource_group, s.slot`

export async function readGroupSlots(db: Queryable, resourceGroups: readonly string[]): Promise<GroupSlotRow[]> {
  return (await db.query<GroupSlotRow>(SQL, [resourceGroups])).rows
}

import { parseQuantities } from '../../domain/scheduling/quantity.ts'
import { openRoom, type AgentRoom } from '../../domain/scheduling/room.ts'
import type { Queryable } from '../database.ts'

interface RoomRow {
  group: string
  id: string
  labels: Record<string, string>
  /** { slot: amount } as decimal text; negative if the agent declares less than is in use. */
  free: Record<string, string>
  capacity: Record<string, string>
}

const SQL = `
SELECT a.resource_group AS "group", a.id, a.labels,
  coalesce(json_object_agg(s.slot, (s.declared - s.used)::text) FILTER (WHERE s.slot IS NOT NULL), '{}') AS free,
  coalesce(json_object_agg(s.slot, s.declared::text) FILTER (WHERE s.slot IS NOT NULL), '{}') AS capacity
FROM agents a LEFT JOIN agent_slots s ON s.agent_id = a.id AND s.declared > 0
WHERE a.resource_group = ANY($1) AND a.status = 'ALIVE'
GROUP BY a.id ORDER BY a.id`

/**
 * The agents of these groups that accept work, in id order, with their free resources. Every scheduling pass considers
 * all of them: each agent costs about 5 µs here and 2 to 3 µs in the selection, so 3 to 4 ms for 500.
 */
export async function readAgentRooms(
  tx: Queryable,
  resourceGroups: readonly string[],
): Promise<Map<string, AgentRoom[]>> {
  const { rows } = await tx.query<RoomRow>(SQL, [resourceGroups])
  const rooms = Map.groupBy(rows, ({ group }) => group)
  return new Map(
    [...rooms].map(([group, agents]) => [
      group,
      agents.map(({ id, labels, free, capacity }) =>
        openRoom({ id, labels, free: parseQuantities(free), capacity: parseQuantities(capacity) }),
      ),
    ]),
  )
}

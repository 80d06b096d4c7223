import { parseQuantities, type Quantities } from '../../../domain/scheduling/quantity.ts'
import type { Queryable } from '../../database.ts'

const SQL = `
WITH held AS (
  SELECT coalesce(s.user_id, s.project_id) AS owner, k.resource_slots, count(*) AS kernels
  FROM agents a JOIN kernels k ON k.agent_id = a.id AND k.slots_held JOIN sessions s ON s.id = k.session_id
  WHERE a.resource_group = $1 GROUP BY 1, 2
)
SELECT owner, slot.key AS slot, trim_scale(sum(slot.value::numeric * kernels))::text AS amount
FROM held, jsonb_each_text(resource_slots) AS slot GROUP BY 1, 2`

/** What each owner (the user, or the project if there is no user) has in use in a group. Index: kernels_on_agent. */
export async function readUseByOwner(tx: Queryable, resourceGroup: string): Promise<Map<string, Quantities>> {
  const { rows } = await tx.query<{ owner: string; slot: string; amount: string }>(SQL, [resourceGroup])
  const owners = Map.groupBy(rows, ({ owner }) => owner)
  return new Map(
    [...owners].map(([owner, slots]) => [
      owner,
      parseQuantities(Object.fromEntries(slots.map(({ slot, amount }) => [slot, amount]))),
    ]),
  )
}

import type { LogOffset, RegisterRequest } from '../../domain/agent/protocol.ts'
import type { Queryable } from '../database.ts'

/**
 * An agent comes, or comes back: its row, its slots, and where its log shipping goes on. A slot keeps room for
 * what is in use of it even where the agent now declares less.
 * Locks: the agent, then its slots in key order, as whoever books slots does.
 */
const REGISTER_SQL = `
WITH registered AS (
  INSERT INTO agents (id, name, resource_group, address, version, status, labels, instance_id)
  VALUES ($1, $2, $3, $4, $5, 'ALIVE', $6::jsonb, $7)
  ON CONFLICT (id) DO UPDATE SET name = $2, resource_group = $3, address = $4, version = $5, labels = $6::jsonb,
    instance_id = $7, last_sequence = 0, last_heard_at = now(), registered_at = now(),
    status = CASE WHEN agents.drained_at IS NULL THEN 'ALIVE'::agent_status ELSE 'DRAINING' END
  RETURNING id
), declared AS (
  INSERT INTO agent_slots (agent_id, slot, declared, capacity)
  SELECT registered.id, slot.key, slot.value::numeric, slot.value::numeric
  FROM registered, jsonb_each_text($8::jsonb) AS slot
  ORDER BY slot.key
  ON CONFLICT (agent_id, slot) DO UPDATE SET declared = excluded.declared,
    capacity = greatest(excluded.declared, agent_slots.used)
), withdrawn AS (
  UPDATE agent_slots SET declared = 0, capacity = used WHERE agent_id = $1 AND NOT $8::jsonb ? slot
)
SELECT l.kernel_id AS "kernelId", l.assignment, l.stream, max(l."offset" + l.bytes) AS offset
FROM kernels k JOIN kernel_logs l ON l.kernel_id = k.id AND l.assignment = k.assignment
WHERE k.agent_id = $1 AND (k.slots_held OR NOT k.confirmed_gone)
GROUP BY 1, 2, 3`

export async function registerAgentRow(db: Queryable, agent: RegisterRequest): Promise<LogOffset[]> {
  const { agentId, name, resourceGroup, address, version, labels, instanceId, slots } = agent
  const values = [
    agentId,
    name,
    resourceGroup,
    address,
    version,
    JSON.stringify(labels),
    instanceId,
    JSON.stringify(slots),
  ]
  return (await db.query<LogOffset>(REGISTER_SQL, values)).rows
}

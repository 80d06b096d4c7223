import type { LogOffset, RegisterRequest } from '../../domain/agent/protocol.ts'
import type { Queryable } from '../database.ts'

/**
 * An agent comes, or comes back: its row, its slots, and where its log shipping goes on. A slot keeps room for
 * what is in use of it even where the agent now declares less. An agent of another token stays as it is while
 * that token is in force, and `registered` is false.
 * Locks: the agent, then its slots in key order, as whoever books slots does.
 */
const REGISTER_SQL = `
WITH registered AS (
  INSERT INTO agents (id, name, resource_group, address, version, status, labels, instance_id, token_id)
  VALUES ($1, $2, $3, $4, $5, 'ALIVE', $6::jsonb, $7, $9)
  ON CONFLICT (id) DO UPDATE SET name = $2, resource_group = $3, address = $4, version = $5, labels = $6::jsonb,
    instance_id = $7, last_sequence = 0, token_id = $9, last_heard_at = now(), registered_at = now(),
    status = CASE WHEN agents.drained_at IS NULL THEN 'ALIVE'::agent_status ELSE 'DRAINING' END
  WHERE $10 OR agents.token_id = $9 OR (agents.token_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM api_tokens t WHERE t.id = agents.token_id AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > now())))
  RETURNING id
), declared AS (
  INSERT INTO agent_slots (agent_id, slot, declared, capacity)
  SELECT registered.id, slot.key, slot.value::numeric, slot.value::numeric
  FROM registered, jsonb_each_text($8::jsonb) AS slot
  ORDER BY slot.key
  ON CONFLICT (agent_id, slot) DO UPDATE SET declared = excluded.declared,
    capacity = greatest(excluded.declared, agent_slots.used)
), withdrawn AS (
  UPDATE agent_slots SET declared = 0, capacity = used
  WHERE agent_id = (SELECT id FROM registered) AND NOT $8::jsonb ? slot
), shipped AS (
  SELECT l.kernel_id, l.assignment, l.stream, max(l."offset" + l.bytes) AS "offset"
  FROM kernels k JOIN kernel_logs l ON l.kernel_id = k.id AND l.assignment = k.assignment
  WHERE k.agent_id = (SELECT id FROM registered) AND (k.slots_held OR NOT k.confirmed_gone)
  GROUP BY 1, 2, 3
)
SELECT EXISTS (SELECT FROM registered) AS registered, (
  SELECT coalesce(json_agg(json_build_object(
    'kernelId', kernel_id, 'assignment', assignment, 'stream', stream, 'offset', "offset")), '[]')
  FROM shipped) AS "logOffsets"`

/** With whose token an agent comes. */
export interface AgentClaim {
  /** Null without one: the embedded agent. */
  tokenId: string | null
  /** Whether an agent of another token is taken over. */
  takesOver: boolean
}

/** Undefined where the agent is another token's. */
export async function registerAgentRow(
  db: Queryable,
  agent: RegisterRequest,
  { tokenId, takesOver }: AgentClaim,
): Promise<LogOffset[] | undefined> {
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
    tokenId,
    takesOver,
  ]
  const { rows } = await db.query<{ registered: boolean; logOffsets: LogOffset[] }>(REGISTER_SQL, values)
  return rows[0]!.registered ? rows[0]!.logOffsets : undefined
}

import type { LogOffset, RegisterRequest } from '../../../domain/agent/protocol.ts'
import type { Queryable } from '../../database.ts'

/** Isolation of the process executor, weakest first; that of other executors cannot be compared. */
const STRENGTHS = `ARRAY['none', 'user', 'namespaces', 'namespaces+user']`

const IS_WEAKER = `(NOT $13 AND array_position(${STRENGTHS}, $12::text) < array_position(${STRENGTHS}, agents.isolation))`
/** The GPUs among those to return that the agent still reports as out of service. */
const STILL_OUT = `(SELECT array_agg(uuid) FROM unnest(agents.gpu_returns) AS uuid WHERE EXISTS (
      SELECT FROM jsonb_array_elements($22::jsonb) AS g WHERE g ->> 'uuid' = uuid AND g ->> 'fault' IS NOT NULL))`
/**
 * The GPUs among those to take out of service that the agent does not report as such, unless it can see its GPUs and
 * this one is gone.
 */
const STILL_IN = `(SELECT jsonb_object_agg(t.key, t.value) FROM jsonb_each(agents.gpu_takes) AS t
    LEFT JOIN jsonb_array_elements($22::jsonb) AS g ON g ->> 'uuid' = t.key
    WHERE g ->> 'fault' IS NULL AND (g IS NOT NULL OR $23::text IS NOT NULL))`
const WEAKER_WORDS = `concat('it isolated its kernels by ', agents.isolation, ' before, and now by ', $12::text,
  '; REPRISE_ISOLATION=', $12::text, ' accepts that')`

/**
 * Registers an agent, new or returning: its row, its slots, and where its log shipping continues. A slot keeps capacity
 * for what is in use even if the agent now declares less. A shorter fence takes effect only once nothing on the agent
 * may still follow the longer one: running kernels were given the longer one, and the answer to this registration may
 * be lost. Isolation never becomes weaker by itself: an agent that returns with a weaker one without having been
 * configured so gets no kernels, and the stronger one stays recorded. An agent registered with another token stays
 * unchanged while that token is valid, and `registered` is false. Locks: the agent, then its slots in key order, as in
 * every statement that takes slots.
 */
const REGISTER_AGENT_ROW_SQL = `
WITH before AS (
  SELECT status, instance_id FROM agents WHERE id = $1
), registered AS (
  INSERT INTO agents (id, name, resource_group, address, version, status, labels, instance_id, token_id, fence_after_ms,
    isolation, isolation_by_hand, embedded, chain_store, slots_per_kernel_max, ports, volumes, warnings, refuses,
    judges_time, gpus, gpu_fault, gpu_sharing)
  VALUES ($1, $2, $3, $4, $5, 'ALIVE', $6::jsonb, $7, $9, $11, $12, $13, $14, $15, $16::jsonb, $17, $18::jsonb,
    $19::jsonb, $20, $21, $22::jsonb, $23, $24)
  ON CONFLICT (id) DO UPDATE SET name = $2, resource_group = $3, address = $4, version = $5, labels = $6::jsonb,
    isolation = CASE WHEN ${IS_WEAKER} THEN agents.isolation ELSE $12 END,
    refuses = CASE WHEN ${IS_WEAKER} THEN ${WEAKER_WORDS} ELSE $20 END, isolation_by_hand = $13, embedded = $14,
    chain_store = $15, slots_per_kernel_max = $16::jsonb, ports = $17, volumes = $18::jsonb, warnings = $19::jsonb,
    judges_time = $21, gpus = $22::jsonb, gpu_fault = $23, gpu_sharing = $24, gpu_returns = ${STILL_OUT},
    gpu_takes = ${STILL_IN}, instance_id = $7, last_sequence = 0, token_id = $9, last_heard_at = reprise_now(),
    status = CASE WHEN agents.drained_at IS NULL THEN 'ALIVE'::agent_status ELSE 'DRAINING' END,
    fence_after_ms = CASE WHEN EXISTS (SELECT FROM kernels k
        WHERE k.agent_id = agents.id AND (k.slots_held OR NOT k.confirmed_gone))
      THEN greatest(agents.fence_after_ms, $11) ELSE $11 END
  WHERE $10 OR agents.token_id = $9 OR (agents.token_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM api_tokens t WHERE t.id = agents.token_id AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > reprise_now())))
  RETURNING id, status
), events AS (
  SELECT r.id, b.status::text AS "from", r.status::text AS "to",
    CASE WHEN b.status IS NULL THEN 'registered' WHEN b.instance_id <> $7 THEN 'its program was started again'
      ELSE 'registered again' END AS message
  FROM registered r LEFT JOIN before b ON true
  WHERE b.status IS DISTINCT FROM r.status OR b.instance_id IS DISTINCT FROM $7
), repeated AS (
  UPDATE scheduling_history h SET attempts = h.attempts + 1, last_at = reprise_now() FROM events e
  WHERE h.entity_id = e.id AND h.id = (SELECT max(id) FROM scheduling_history WHERE entity_id = e.id)
    AND h.phase = 'register-agent' AND h.from_status IS NOT DISTINCT FROM e."from" AND h.to_status = e."to"
    AND h.message = e.message
  RETURNING e.id
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'AGENT', id, 'register-agent', "from", "to", 'SUCCESS', message FROM events
  WHERE id NOT IN (SELECT id FROM repeated)
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

/** The token and the origin of a registration. */
export interface AgentClaim {
  /** Whether the agent runs in the server's own process. */
  embedded: boolean
  /** Null for the embedded agent, which has none. */
  tokenId: string | null
  /** Whether it may take over an agent that was registered with another token. */
  takesOver: boolean
}

/** Returns undefined if the agent belongs to another token. */
export async function registerAgentRow(
  db: Queryable,
  agent: RegisterRequest & { fenceAfterMs: number },
  { tokenId, takesOver, embedded }: AgentClaim,
): Promise<LogOffset[] | undefined> {
  const {
    agentId,
    name,
    resourceGroup,
    address,
    version,
    labels,
    instanceId,
    slots,
    fenceAfterMs,
    isolation,
    chainStore,
    slotsPerKernelMax,
    ports,
    volumes = [],
    warnings = [],
    refuses,
    judgesTime = false,
    gpus,
    gpuFault,
    gpuSharing,
  } = agent
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
    fenceAfterMs,
    isolation?.name ?? null,
    isolation?.byHand ?? false,
    embedded,
    chainStore ?? null,
    slotsPerKernelMax === undefined ? null : JSON.stringify(slotsPerKernelMax),
    ports ?? null,
    volumes.length === 0 ? null : JSON.stringify(volumes),
    warnings.length === 0 ? null : JSON.stringify(warnings),
    refuses ?? null,
    judgesTime,
    gpus === undefined ? null : JSON.stringify(gpus),
    gpuFault ?? null,
    gpuSharing ?? null,
  ]
  const { rows } = await db.query<{ registered: boolean; logOffsets: LogOffset[] }>(REGISTER_AGENT_ROW_SQL, values)
  return rows[0]!.registered ? rows[0]!.logOffsets : undefined
}

const READ_GROUP_FENCE_SQL = `SELECT fence_after_ms AS "fenceAfterMs" FROM resource_groups WHERE name = $1 AND deleted_at IS NULL`

/** Reads the fence in milliseconds; undefined if there is no such group. */
export async function readGroupFence(db: Queryable, resourceGroup: string): Promise<number | undefined> {
  return (await db.query<{ fenceAfterMs: number }>(READ_GROUP_FENCE_SQL, [resourceGroup])).rows[0]?.fenceAfterMs
}

const LOCK_STORE_SQL = `SELECT pg_advisory_xact_lock(hashtextextended('chain store ' || $1::text, 0))`

/** A group has few stores, and a store few groups. */
const BIND_STORE_SQL = `
WITH others AS (
  SELECT resource_group FROM chain_store_groups WHERE store = $1 AND resource_group <> $2
), bound AS (
  SELECT FROM chain_store_groups WHERE store = $1 AND resource_group = $2 FOR KEY SHARE
), added AS (
  INSERT INTO chain_store_groups (store, resource_group)
  SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM bound)
    AND NOT EXISTS (SELECT FROM others WHERE resource_group <> ALL($3::text[]))
  RETURNING 1
)
SELECT EXISTS (SELECT FROM bound) OR EXISTS (SELECT FROM added) AS allowed, ARRAY(SELECT resource_group FROM others) AS others`

/**
 * Binds a store to an agent's group. The group may have the store if no group has it, or if the registering token may
 * serve all groups that have it. So no group gets access to files of other groups' chains.
 *
 * @param groups the groups of the token; null for all
 * @returns the groups that have the store, if this group may not have it; otherwise null
 */
export async function bindChainStore(
  tx: Queryable,
  { store, resourceGroup, groups }: { store: string; resourceGroup: string; groups: readonly string[] | null },
): Promise<string[] | null> {
  await tx.query(LOCK_STORE_SQL, [store])
  const values = [store, resourceGroup, groups]
  const { allowed, others } = (await tx.query<{ allowed: boolean; others: string[] }>(BIND_STORE_SQL, values)).rows[0]!
  return allowed ? null : others
}

interface AgentOwner {
  /** Null if it registered without a token. */
  tokenId: string | null
  resourceGroup: string
}

const READ_AGENT_TOKEN_SQL = `SELECT token_id AS "tokenId", resource_group AS "resourceGroup" FROM agents WHERE id = $1`

/** Reads the token with which an agent registered, and its group; undefined if the agent is unknown. */
export async function readAgentToken(db: Queryable, agentId: string): Promise<AgentOwner | undefined> {
  return (await db.query<AgentOwner>(READ_AGENT_TOKEN_SQL, [agentId])).rows[0]
}

/**
 * Agents that may run kernels, and run them without isolation. A lost agent may come back with the isolation that it
 * reported.
 */
const OPEN_SQL = `
SELECT name FROM agents
WHERE isolation = 'none' AND NOT isolation_by_hand AND status NOT IN ('LOST', 'TERMINATED')
ORDER BY name LIMIT 1`

/** Returns an agent without isolation, unless somebody has configured it so; null if there is none. */
export async function findOpenAgent(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ name: string }>(OPEN_SQL)
  return rows[0]?.name ?? null
}

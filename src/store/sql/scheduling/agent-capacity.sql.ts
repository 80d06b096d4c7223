import {
  type OfferedVolume,
  parseQuantities,
  parseQuantity,
  type Quantity,
} from '../../../domain/scheduling/resource-request.ts'
import type { GpuNeed, ObservedGpu } from '../../../domain/gpu.ts'
import { gpuSupply, type GpuSupply, withoutHeld } from '../../../domain/scheduling/gpu-supply.ts'
import { agentCapacity, type AgentCapacity } from '../../../domain/scheduling/agent-pool.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { SHIPPED_POLICY } from '../../../domain/retry/policy/policy.ts'
import type { StoredCheckpoint } from '../../../domain/scheduling/checkpoint-placement.ts'

/** A slot of an agent. An agent without slots has one row with nulls in the last three columns. */
interface SlotRow {
  group: string
  id: string
  name?: string
  accepts?: boolean
  /** Null for none. */
  labels: Record<string, string> | null
  /** Null if a kernel may have everything that the agent has. */
  perKernel: Record<string, string> | null
  /** Null for none. */
  volumes: OfferedVolume[] | null
  ports: boolean
  /** All GPUs that it assigns itself, in the rows of their slots; null for none. */
  gpus: ObservedGpu[] | null
  gpuSharing: number | null
  /** The kernels that have GPUs of this slot; null for none. */
  holders: HolderRow[] | null
  slot: string | null
  /** A plain decimal, negative if the agent declares less than is in use. */
  free: string
  declared: string
}

interface HolderRow {
  gpus: { uuid: string }[] | null
  slots: Record<string, string>
  need: GpuNeed | null
}

/** Whether `agents a` accepts work. */
const ACCEPTS = `a.status = 'ALIVE' AND a.refuses IS NULL`

/** Whether the row is that of a slot whose GPUs the agent assigns itself. */
const OF_GPUS = `a.gpus IS NOT NULL AND s.slot IN ('cuda.device', 'rocm.device')`

/**
 * Returns rows of plain columns, because JSON for each agent takes twice as long to build and to read. Only agents with
 * GPUs have some. Index: kernels_on_agent.
 */
const rowsOf = (more: string, condition: string) => `
SELECT ${more}a.resource_group AS "group", a.id, nullif(a.labels, '{}') AS labels, s.slot, (s.declared - s.used)::text AS free,
  s.declared::text AS declared, a.slots_per_kernel_max AS "perKernel", a.volumes, a.ports IS NOT FALSE AS ports,
  CASE WHEN ${OF_GPUS} THEN a.gpus END AS gpus, a.gpu_sharing AS "gpuSharing",
  CASE WHEN ${OF_GPUS} THEN (SELECT json_agg(json_build_object('gpus', k.gpus, 'slots', k.resource_slots, 'need', n.gpu_need))
    FROM kernels k JOIN sessions n ON n.id = k.session_id
    WHERE k.agent_id = a.id AND k.slots_held AND k.resource_slots ? s.slot) END AS holders
FROM agents a LEFT JOIN agent_slots s ON s.agent_id = a.id AND s.declared > 0
WHERE a.resource_group = ANY($1) AND ${condition}`

const SQL = keepsPlan(rowsOf('', ACCEPTS))

/** An agent that has left for good is TERMINATED. */
const KNOWN_SQL = rowsOf(`a.name, (${ACCEPTS}) AS accepts, `, `a.status <> 'TERMINATED'`)

interface AgentSlots extends Pick<AgentCapacity, 'id' | 'name' | 'labels' | 'perKernel' | 'volumes' | 'ports'> {
  group: string
  free: Map<string, Quantity>
  capacity: Map<string, Quantity>
  gpus: GpuSupply | null
}

/**
 * Reads the agents of these groups that accept work, in id order, with their free resources. Every scheduling pass
 * considers all of them: each agent costs about 4 µs here and 2 to 3 µs in the selection, so 3 ms for 500.
 */
export async function readAgentCapacity(
  tx: Queryable,
  resourceGroups: readonly string[],
): Promise<Map<string, AgentCapacity[]>> {
  const { rows } = await tx.query<Omit<SlotRow, 'name' | 'accepts'>>(SQL, [resourceGroups])
  return byGroup(rows)
}

/** Reads the agents of these groups that have not left: those that accept work, and the others. */
export async function readKnownCapacity(
  db: Queryable,
  resourceGroups: readonly string[],
): Promise<Record<'accepting' | 'others', Map<string, AgentCapacity[]>>> {
  const { rows } = await db.query<SlotRow>(KNOWN_SQL, [resourceGroups])
  const [accepting, others] = [true, false].map((accepts) => byGroup(rows.filter((row) => row.accepts === accepts)))
  return { accepting: accepting!, others: others! }
}

function byGroup(rows: readonly SlotRow[]): Map<string, AgentCapacity[]> {
  const agents = new Map<string, AgentSlots>()
  for (const row of rows) {
    const { group, id, name, labels, perKernel, volumes, ports, slot, free, declared } = row
    let agent = agents.get(id)
    if (!agent) {
      const most = perKernel && parseQuantities(perKernel)
      const kinds = { labels: labels ?? {}, perKernel: most, volumes: volumes ?? [], ports }
      agent = { group, id, name, ...kinds, free: new Map(), capacity: new Map(), gpus: null }
      agents.set(id, agent)
    }
    if (slot === null) continue
    agent.free.set(slot, parseQuantity(free))
    agent.capacity.set(slot, parseQuantity(declared))
    agent.gpus = withSlot(agent.gpus, row, slot)
  }
  const inOrder = [...agents.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const groups = Map.groupBy(inOrder, ({ group }) => group)
  return new Map([...groups].map(([group, those]) => [group, those.map(agentCapacity)]))
}

/** Adds the GPUs of one slot, without those that kernels have. Only an agent of a cluster limits a single kernel. */
function withSlot(before: GpuSupply | null, row: Omit<SlotRow, 'name' | 'accepts'>, slot: string): GpuSupply | null {
  if (row.gpus === null) return before
  const holders = (row.holders ?? []).map(({ gpus, slots, need }) => {
    return { gpus, need, amounts: new Map([[slot, parseQuantity(slots[slot] ?? '0')]]) }
  })
  const cluster = row.perKernel === null ? null : new Map([[slot, parseQuantity(row.declared)]])
  const supply = withoutHeld(gpuSupply(row.gpus, row.gpuSharing, slot, cluster), holders)
  return { ...supply, gpus: [...(before?.gpus ?? []), ...supply.gpus] }
}

/** Reads all agents once for each store. Indexes: the primary keys. */
const STORED_CHECKPOINTS = `
SELECT s.id, c.attempt, wish.checkpoint = 'REQUIRE' AND c.relay_attempt IS DISTINCT FROM c.attempt AS "isRequired", wish.wait * 1000 AS "waitMaxMs",
  extract(epoch FROM reprise_now() - s.created_at)::float8 * 1000 AS "waitedMs",
  coalesce((SELECT json_agg(json_build_object('id', a.id, 'name', a.name, 'status', a.status,
      'isOpen', a.status = 'ALIVE' AND a.refuses IS NULL AND a.resource_group = s.resource_group)
      ORDER BY a.status = 'ALIVE' AND a.refuses IS NULL AND a.resource_group = s.resource_group DESC, a.status, a.last_heard_at DESC)
    FROM agents a WHERE a.chain_store = c.store AND a.status <> 'TERMINATED'), '[]') AS agents
FROM sessions s JOIN checkpoints c ON c.chain_id = s.chain_id
CROSS JOIN LATERAL (SELECT coalesce(s.retry_policy ->> 'checkpoint', $2) AS checkpoint,
  coalesce((s.retry_policy ->> 'checkpointWait')::float8, $3) AS wait) AS wish
WHERE s.id = ANY($1::uuid[]) AND c.store IS NOT NULL AND c.dropped_at IS NULL AND c.files IS DISTINCT FROM 0
  AND wish.checkpoint <> 'IGNORE'`

/**
 * Reads the checkpoints by session. Sessions without one, or that do not want theirs, are missing; first attempts have
 * none.
 */
export async function readStoredCheckpoints(
  db: Queryable,
  sessions: readonly { id: string; attempt: number }[],
): Promise<Map<string, StoredCheckpoint>> {
  const ids = sessions.filter(({ attempt }) => attempt > 1).map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const { checkpoint, checkpointWait } = SHIPPED_POLICY
  const { rows } = await db.query<StoredCheckpoint & { id: string }>(STORED_CHECKPOINTS, [
    ids,
    checkpoint,
    checkpointWait,
  ])
  return new Map(rows.map(({ id, ...stored }) => [id, stored]))
}

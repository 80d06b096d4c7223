import type { Gpu, GpuUsage, ObservedGpu } from '../../../domain/gpu.ts'
import type { Queryable } from '../../database.ts'

const FIGURES_SQL = `UPDATE agents SET gpus = $3::jsonb WHERE id = $1 AND instance_id = $2 AND gpus IS DISTINCT FROM $3::jsonb`

/** Records what an agent's GPUs do now. */
export async function recordGpuFigures(
  db: Queryable,
  { agentId, instanceId }: { agentId: string; instanceId: string },
  gpus: readonly ObservedGpu[],
): Promise<void> {
  await db.query(FIGURES_SQL, [agentId, instanceId, JSON.stringify(gpus)])
}

/** A GPU and a session that has it. */
export interface GpuHolderRow {
  agentId: string
  uuid: string
  sessionId: string
}

/** Index: kernels_on_agent. */
const HOLDERS_SQL = `
SELECT k.agent_id AS "agentId", gpu ->> 'uuid' AS uuid, k.session_id AS "sessionId"
FROM kernels k CROSS JOIN LATERAL jsonb_array_elements(k.gpus) AS gpu
WHERE k.agent_id = ANY($1::uuid[]) AND (k.slots_held OR NOT k.confirmed_gone) AND k.gpus IS NOT NULL
ORDER BY k.id`

/** Reads which sessions have which GPUs of these agents. */
export async function readGpuHolders(db: Queryable, agentIds: readonly string[]): Promise<GpuHolderRow[]> {
  return (await db.query<GpuHolderRow>(HOLDERS_SQL, [agentIds])).rows
}

/** The GPUs of a kernel, and what it has used of them. */
export interface KernelGpusRow {
  sessionId: string
  gpus: Gpu[]
  usage: GpuUsage | null
}

/** Index: kernels_session_id_role_index_key. */
const OF_SESSIONS_SQL = `
SELECT k.session_id AS "sessionId", k.gpus, k.gpu_usage AS usage FROM kernels k
WHERE k.session_id = ANY($1::uuid[]) AND k.gpus IS NOT NULL ORDER BY k.role, k.index`

export async function readGpusOfSessions(db: Queryable, sessionIds: readonly string[]): Promise<KernelGpusRow[]> {
  return (await db.query<KernelGpusRow>(OF_SESSIONS_SQL, [sessionIds])).rows
}

import { addUsage, type Gpu, type GpuUsage } from '../../domain/gpu.ts'
import { readGpuHolders as readHolders, readGpusOfSessions } from '../../store/sql/agent/gpus.sql.ts'
import type { ServiceContext } from '../service-context.ts'

/** Reads, by agent and then by the UUID of a GPU, the sessions that have it. Every viewer sees that it is in use. */
export async function readGpuHolders(
  { db }: Pick<ServiceContext, 'db'>,
  agentIds: readonly string[],
): Promise<Map<string, Map<string, string[]>>> {
  const rows = await readHolders(db, agentIds)
  const agents = Map.groupBy(rows, ({ agentId }) => agentId)
  return new Map(
    [...agents].map(([agentId, those]) => {
      const gpus = Map.groupBy(those, ({ uuid }) => uuid)
      return [agentId, new Map([...gpus].map(([uuid, each]) => [uuid, each.map(({ sessionId }) => sessionId)]))]
    }),
  )
}

/** The GPUs of all kernels of a session, and what these have used of them. */
export interface SessionGpus {
  gpus: Gpu[]
  usage: GpuUsage | null
}

/** Reads, by session, its GPUs; sessions without any are missing. The caller has checked that the viewer may see them. */
export async function readSessionGpus(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, SessionGpus>> {
  const rows = await readGpusOfSessions(db, sessionIds)
  const sessions = Map.groupBy(rows, ({ sessionId }) => sessionId)
  return new Map(
    [...sessions].map(([sessionId, kernels]) => {
      const usages = kernels.flatMap(({ usage }) => usage ?? [])
      const usage = usages.length === 0 ? null : usages.reduce(addUsage)
      return [sessionId, { gpus: kernels.flatMap(({ gpus }) => gpus), usage }]
    }),
  )
}

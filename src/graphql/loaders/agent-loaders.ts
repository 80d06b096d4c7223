import DataLoader from 'dataloader'
import type { KernelUsage } from '../../domain/agent/kernel-report.ts'
import type { Agent, Kernel, PrismaClient, User } from '../../generated/prisma/client.ts'
import {
  type AgentWorkRow,
  countGroupAgents,
  countOnAgents,
  type GroupAgentRow,
  readGroupAgents,
  readKernelsOnAgents,
  readSessionsOnAgents,
} from '../../services/agent/agent-work.ts'
import { readGpuHolders, readSessionGpus, type SessionGpus } from '../../services/agent/gpus.ts'
import { visibleUsers } from '../../services/access/tenants.ts'
import { AGENTS_BY_NAME, type OrderColumn } from '../../services/paging.ts'
import { countGroupPending, type GroupPendingRow, readGroupPending } from '../../services/resource-group.ts'
import type { ServiceContext } from '../../services/service-context.ts'
import {
  type DependentRow,
  type FoundCheckpointRow,
  readDependents,
  readFoundCheckpoints,
  readUsage,
} from '../../services/session/read-sessions.ts'
import { readDurations, type SessionDurations } from '../../services/session/explain-pending.ts'
import {
  countLoader,
  type Makers,
  manyLoader,
  nodeLoader,
  type NodeLoader,
  pageLoader,
  type PageLoader,
  type PageCursor,
  cursorValues,
} from './loader-kinds.ts'

/** Loaders for agents, resource groups and the work on them: one statement for all keys of the same tick. */
export interface AgentLoaders {
  kernelNodes: NodeLoader<Kernel>
  agentNodes: NodeLoader<Agent>
  /** Users that the viewer sees. */
  userNodes: NodeLoader<User>
  /** Keyed by agent. */
  agentKernels: PageLoader<AgentWorkRow>
  agentKernelCount: DataLoader<string, number>
  agentSessions: PageLoader<AgentWorkRow>
  agentSessionCount: DataLoader<string, number>
  /** Keyed by agent: by the UUID of a GPU, the sessions that have it. */
  gpuHolders: DataLoader<string, ReadonlyMap<string, readonly string[]>>
  /** Keyed by session. */
  sessionGpus: DataLoader<string, SessionGpus>
  /** Keyed by the name of the resource group. */
  groupAgents: PageLoader<GroupAgentRow>
  groupAgentCount: DataLoader<string, number>
  groupPending: PageLoader<GroupPendingRow>
  groupPendingCount: DataLoader<string, number>
  /** Keyed by session. */
  durations: DataLoader<string, SessionDurations>
  usage: DataLoader<string, KernelUsage | null>
  checkpoint: DataLoader<string, FoundCheckpointRow | null>
  /** Keyed by chain. */
  dependents: DataLoader<string, DependentRow[]>
}

export const BY_ID_NEWEST: readonly OrderColumn[] = [{ column: 'id', direction: 'desc', type: 'uuid' }]

export const PENDING_ORDER: readonly OrderColumn[] = [
  { column: 'priority', direction: 'desc', type: 'number' },
  { column: 'createdAt', direction: 'asc', type: 'date' },
  { column: 'id', direction: 'asc', type: 'uuid' },
]

type Source = Pick<ServiceContext, 'db' | 'viewer'> & { prisma: PrismaClient }

export const agentLoaders: Makers<Source, AgentLoaders> = {
  kernelNodes: ({ prisma }) => nodeLoader((query) => prisma.kernel.findMany(query)),
  agentNodes: ({ prisma }) => nodeLoader((query) => prisma.agent.findMany(query)),
  userNodes: ({ prisma, viewer }) =>
    nodeLoader(({ where, ...query }) =>
      prisma.user.findMany({ ...query, where: { AND: [visibleUsers(viewer), where] } }),
    ),
  agentKernels: (source) =>
    pageLoader(
      (agentIds, after, limit) => readKernelsOnAgents(source, { agentIds, before: idOf(after), limit }),
      (row) => row.agentId,
    ),
  agentKernelCount: (source) => countLoader((ids) => countOnAgents(source, 'kernels', ids)),
  agentSessions: (source) =>
    pageLoader(
      (agentIds, after, limit) => readSessionsOnAgents(source, { agentIds, before: idOf(after), limit }),
      (row) => row.agentId,
    ),
  agentSessionCount: (source) => countLoader((ids) => countOnAgents(source, 'sessions', ids)),
  gpuHolders: (source) =>
    new DataLoader(async (ids) => {
      const holders = await readGpuHolders(source, ids)
      return ids.map((id) => holders.get(id) ?? new Map())
    }),
  sessionGpus: (source) =>
    new DataLoader(async (ids) => {
      const gpus = await readSessionGpus(source, ids)
      return ids.map((id) => gpus.get(id) ?? { gpus: [], usage: null })
    }),
  groupAgents: (source) =>
    pageLoader(
      (groups, after, limit) =>
        readGroupAgents(source, {
          groups,
          after: named(cursorValues(AGENTS_BY_NAME, after), ([name, id]) => ({
            name: name as string,
            id: id as string,
          })),
          limit,
        }),
      (row) => row.resourceGroup,
    ),
  groupAgentCount: (source) => countLoader((groups) => countGroupAgents(source, groups)),
  groupPending: (source) =>
    pageLoader(
      (groups, after, limit) =>
        readGroupPending(source, {
          groups,
          after: named(cursorValues(PENDING_ORDER, after), ([priority, createdAt, id]) => ({
            priority: priority as number,
            createdAt: createdAt as Date,
            id: id as string,
          })),
          limit,
        }),
      (row) => row.resourceGroup,
    ),
  groupPendingCount: (source) => countLoader((groups) => countGroupPending(source, groups)),
  durations: (source) =>
    new DataLoader(async (ids) => {
      const durations = await readDurations(source, ids)
      return ids.map((id) => durations.get(id) ?? new Error(`no session ${id}`))
    }),
  usage: (source) =>
    new DataLoader(async (ids) => {
      const usage = await readUsage(source, ids)
      return ids.map((id) => usage.get(id) ?? null)
    }),
  checkpoint: (source) =>
    new DataLoader(async (ids) => {
      const found = await readFoundCheckpoints(source, ids)
      return ids.map((id) => found.get(id) ?? null)
    }),
  dependents: (source) =>
    manyLoader(
      (chainIds) => readDependents(source, chainIds),
      (row) => row.dependsOn,
    ),
}

function idOf(after: string): string | null {
  return named(cursorValues(BY_ID_NEWEST, after), ([id]) => id as string)
}

function named<T>(cursor: PageCursor, read: (values: NonNullable<PageCursor>) => T): T | null {
  return cursor && read(cursor)
}

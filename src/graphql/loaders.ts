import DataLoader from 'dataloader'
import {
  countChainChanges,
  readChainAttempts,
  readChainChanges,
  readChainEpochs,
  readChains,
  readChainTotals,
  type AttemptWindow,
  type ChainChange,
  type ChainEpoch,
  type ChainRow,
  type ChainTotalRow,
} from '../services/read-chains.ts'
import { readGroupSlots, type GroupSlotRow } from '../services/read-group-slots.ts'
import { explainPendingSessions } from '../services/explain-pending.ts'
import { countKernelLogs, readKernelLogs, type LogChunkRow } from '../services/read-kernel-logs.ts'
import { readQuotasOf, type UsedQuota } from '../services/read-quotas.ts'
import {
  countResubmissionItems,
  readResubmissionItems,
  type ResubmissionItemRow,
} from '../services/read-resubmission.ts'
import { countSchedulingHistory, readSchedulingHistory, type HistoryRow } from '../services/read-scheduling-history.ts'
import type { Quota } from '../domain/quota/quota.ts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import type { ServiceContext, Viewer } from '../services/service-context.ts'
import { createDeploymentLoaders, type DeploymentLoaders } from './deployment-loaders.ts'
import { countLoader, manyLoader, pageLoader, type PageLoader } from './page-loader.ts'
import { createSessionLoader, type SessionLoader } from './session-loader.ts'
import type { ReadSessions } from '../services/read-selected-sessions.ts'

/** Per operation, or per event of a subscription: what they remember is for one viewer and one moment. */
export interface Loaders extends DeploymentLoaders {
  sessions: SessionLoader
  /** Null for sessions that do not wait. */
  pendingReasons: DataLoader<string, string | null>
  history: PageLoader<HistoryRow>
  historyCount: DataLoader<string, number>
  logs: PageLoader<LogChunkRow>
  logCount: DataLoader<string, number>
  quotas: DataLoader<QuotaKey, UsedQuota, string>
  /** By resubmission and status, see `itemList`. */
  resubmissionItems: PageLoader<ResubmissionItemRow>
  resubmissionItemCount: DataLoader<string, number>
  /** By the resource group's name. */
  groupSlots: DataLoader<string, GroupSlotRow[]>
  /** Undefined where the viewer has no such chain. */
  chains: DataLoader<string, ChainRow | undefined>
  /** Ids of sessions, oldest first. */
  chainAttempts: DataLoader<AttemptWindow, string[], string>
  chainChanges: PageLoader<ChainChange>
  chainChangeCount: DataLoader<string, number>
  chainEpochs: DataLoader<string, ChainEpoch[]>
  chainTotals: DataLoader<string, ChainTotalRow[]>
}

type QuotaKey = Pick<Quota, 'scope' | 'scopeId'>

export function createLoaders(
  services: Pick<ServiceContext, 'db'> & { prisma: PrismaClient },
  viewer: Viewer,
  readSessions: ReadSessions,
): Loaders {
  return {
    sessions: createSessionLoader(readSessions, viewer),
    pendingReasons: new DataLoader(async (ids) => {
      const reasons = await explainPendingSessions(services, ids)
      return ids.map((id) => reasons.get(id) ?? null)
    }),
    history: pageLoader(
      (entityIds, after, limit) => readSchedulingHistory(services, { entityIds, after, limit }),
      (row) => row.entityId,
    ),
    historyCount: countLoader((ids) => countSchedulingHistory(services, ids)),
    logs: pageLoader(
      (kernelIds, after, limit) => readKernelLogs(services, { kernelIds, after, limit }),
      (row) => row.kernelId,
    ),
    logCount: countLoader((ids) => countKernelLogs(services, ids)),
    quotas: new DataLoader((keys) => readQuotasOf(services, keys), {
      cacheKeyFn: ({ scope, scopeId }) => `${scope}/${scopeId}`,
    }),
    resubmissionItems: pageLoader(
      (lists, after, limit) => readResubmissionItems(services, { lists, after, limit }),
      (row) => row.list,
    ),
    resubmissionItemCount: countLoader((lists) => countResubmissionItems(services, lists)),
    groupSlots: manyLoader(
      (names) => readGroupSlots(services, names),
      (row) => row.resourceGroup,
    ),
    ...createChainLoaders({ db: services.db, viewer }),
    ...createDeploymentLoaders({ db: services.db, prisma: services.prisma, viewer }),
  }
}

function createChainLoaders(reader: Pick<ServiceContext, 'db' | 'viewer'>) {
  return {
    chains: new DataLoader(async (ids: readonly string[]) => {
      const rows = new Map((await readChains(reader, ids)).map((row) => [row.chainId, row]))
      return ids.map((id) => rows.get(id))
    }),
    chainAttempts: new DataLoader((windows: readonly AttemptWindow[]) => readChainAttempts(reader, windows), {
      cacheKeyFn: ({ chainId, after, limit }) => `${chainId}:${after}:${limit}`,
    }),
    chainChanges: pageLoader(
      (chainIds, after, limit) => readChainChanges(reader, { chainIds, after, limit }),
      (row) => row.chainId,
    ),
    chainChangeCount: countLoader((ids) => countChainChanges(reader, ids)),
    chainEpochs: manyLoader(
      (ids) => readChainEpochs(reader, ids),
      (row) => row.chainId,
    ),
    chainTotals: manyLoader(
      (ids) => readChainTotals(reader, ids),
      (row) => row.chainId,
    ),
  }
}

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
import { createSessionLoader, type SessionLoader } from './session-loader.ts'
import type { ReadSessions } from './session-reads.ts'

/** Per operation, or per event of a subscription: what they remember is for one viewer and one moment. */
export interface Loaders {
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

export type PageLoader<Row> = DataLoader<PageRequest, Row[], string>

export interface PageRequest {
  /** Of the entity whose rows these are. */
  id: string
  /** Decimal id of the row before the page. */
  after: string
  limit: number
}

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

/** One statement for all that ask for the same page of different entities. */
function pageLoader<Row>(
  read: (ids: string[], after: string, limit: number) => Promise<Row[]>,
  idOf: (row: Row) => string,
): PageLoader<Row> {
  const sizeOf = ({ after, limit }: PageRequest) => `${after}:${limit}`
  return new DataLoader(
    async (requests) => {
      const groups = Map.groupBy(requests, sizeOf)
      const pages = new Map<string, Map<string, Row[]>>()
      await Promise.all(
        [...groups].map(async ([size, group]) => {
          const { after, limit } = group[0]!
          const rows = await read(
            group.map(({ id }) => id),
            after,
            limit,
          )
          pages.set(size, Map.groupBy(rows, idOf))
        }),
      )
      return requests.map((request) => pages.get(sizeOf(request))?.get(request.id) ?? [])
    },
    { cacheKeyFn: (request) => `${request.id}:${sizeOf(request)}` },
  )
}

/** All rows of each entity. */
function manyLoader<Row>(
  read: (ids: readonly string[]) => Promise<Row[]>,
  idOf: (row: Row) => string,
): DataLoader<string, Row[]> {
  return new DataLoader(async (ids) => {
    const rows = Map.groupBy(await read(ids), idOf)
    return ids.map((id) => rows.get(id) ?? [])
  })
}

function countLoader(count: (ids: readonly string[]) => Promise<Map<string, number>>): DataLoader<string, number> {
  return new DataLoader(async (ids) => {
    const counts = await count(ids)
    return ids.map((id) => counts.get(id) ?? 0)
  })
}

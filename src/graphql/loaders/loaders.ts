import DataLoader from 'dataloader'
import type { QuotaKey } from '../../domain/quota.ts'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { readTokenRoles } from '../../services/access/tokens.ts'
import {
  countKernelLogs,
  type LogPage,
  type LogPlace,
  type LogSize,
  readKernelLogs,
  readLogSizes,
} from '../../services/agent/kernel-logs.ts'
import {
  type AttemptWindow,
  type ChainChange,
  type ChainEpoch,
  type ChainRow,
  type ChainTotalRow,
  countChainChanges,
  type KeptCheckpointRow,
  readChainAttempts,
  readChainChanges,
  readChainEpochs,
  readChains,
  readChainTimelines,
  readChainTotals,
  readKeptCheckpoints,
  type RecordedAttempts,
} from '../../services/chain.ts'
import { readNow } from '../../services/event.ts'
import { readQuotasOf, type UsedQuota } from '../../services/quota.ts'
import { type GroupSlotRow, readGroupSlots } from '../../services/resource-group.ts'
import {
  countResubmissionItems,
  readRefusalCounts,
  readResubmissionItems,
  type RefusalCount,
  type ResubmissionItemRow,
} from '../../services/resubmission/resubmissions.ts'
import { type ActionVerdict, readSessionActions } from '../../services/resubmission/act-on-batch.ts'
import {
  readLastRuns,
  readSchedules,
  readSchedulesOfChains,
  type ScheduleRecord,
  type ScheduleRunRow,
} from '../../services/schedule/read-schedules.ts'
import type { Role, ServiceContext } from '../../services/service-context.ts'
import {
  countSchedulingHistory,
  explainPendingSessions,
  findImpossible,
  type PendingReason,
  type HistoryRow,
  readSchedulingHistory,
} from '../../services/session/explain-pending.ts'
import {
  countRunningMembers,
  type DependencyRow,
  findGroupMembers,
  type GroupFailureRow,
  type GroupRow,
  type MemberRangeRow,
  type MemberStatesPage,
  readGroupDependencies,
  readGroupFailures,
  readGroups,
  readMemberRanges,
  readMemberStates,
  readStarts,
} from '../../services/session/read-groups.ts'
import {
  type FailureFigures,
  type FailurePlaces,
  readFigures,
  readGroupsOfFailed,
  readPlaces,
  type ShownFailureGroup,
  spanOf,
} from '../../services/insight/failure-groups.ts'
import { type OutputsRow, readOutputs } from '../../services/session/read-outputs.ts'
import {
  type ProgressRow,
  readProgress,
  type ReadSessions,
  readStartNotes,
} from '../../services/session/read-sessions.ts'
import { agentLoaders, type AgentLoaders } from './agent-loaders.ts'
import { deploymentLoaders, type DeploymentLoaders } from './deployment-loaders.ts'
import { insightLoaders, type InsightLoaders } from './insight-loaders.ts'
import {
  alikeLoader,
  countLoader,
  lazily,
  manyLoader,
  pageLoader,
  type PageLoader,
  valueLoader,
} from './loader-kinds.ts'
import { createSessionLoader, type SessionLoader } from './session-loader.ts'

/** The loaders of one operation, or of one event of a subscription: cached rows belong to one viewer and one moment. */
export interface Loaders extends DeploymentLoaders, AgentLoaders, InsightLoaders {
  /** The time of the database's clock. */
  now: Promise<Date>
  sessions: SessionLoader
  /** Reasons why sessions wait; null for a session that does not wait. */
  pendingReasons: DataLoader<string, PendingReason | null>
  /** Whether a pending session waits in vain, without the words of `pendingReasons`. */
  impossible: DataLoader<string, boolean>
  startNotes: DataLoader<string, string | null>
  /** Keyed by session; null if its program has told no progress. */
  progress: DataLoader<string, ProgressRow | null>
  /** Keyed by group. */
  groupDependencies: DataLoader<string, DependencyRow[]>
  /** Null if the viewer sees no such group. */
  groups: DataLoader<string, GroupRow | null>
  /** The number of members that run. */
  runningMembers: DataLoader<GroupRow, number, string>
  memberStates: DataLoader<{ id: string; after: number; limit: number }, MemberStatesPage, string>
  memberRanges: DataLoader<{ group: GroupRow; size: number }, MemberRangeRow[], string>
  /** Keyed by group. */
  groupFailures: DataLoader<string, GroupFailureRow[]>
  /** Keyed by group: when its first member started. */
  groupStarts: DataLoader<string, Date | null>
  /** The chain of a member. */
  groupMembers: DataLoader<{ groupId: string; index: number }, string | undefined, string>
  /** Keyed by failed session. */
  failureGroupOfSession: DataLoader<string, ShownFailureGroup | null>
  failureFigures: DataLoader<ShownFailureGroup, FailureFigures | null, string>
  failurePlaces: DataLoader<ShownFailureGroup, FailurePlaces, string>
  /** Keyed by session; null if it has no outputs. */
  outputs: DataLoader<string, OutputsRow | null>
  /** Keyed by session; empty if the viewer does not see it. */
  sessionActions: DataLoader<string, ActionVerdict[]>
  /** Keyed by token; null if the token is not valid. */
  tokenRoles: DataLoader<string, Role | null>
  history: PageLoader<HistoryRow>
  historyCount: DataLoader<string, number>
  /** Pages of logs; undefined if there is no log. */
  logs: DataLoader<LogPlace & { kernelId: string }, LogPage | undefined, string>
  logSizes: DataLoader<string, LogSize>
  logCount: DataLoader<string, number>
  quotas: DataLoader<QuotaKey, UsedQuota, string>
  /** Keyed by resubmission and status, see `itemList`. */
  resubmissionItems: PageLoader<ResubmissionItemRow>
  resubmissionItemCount: DataLoader<string, number>
  resubmissionRefusals: DataLoader<string, RefusalCount[]>
  /** Keyed by the name of the resource group. */
  groupSlots: DataLoader<string, GroupSlotRow[]>
  /** Chains by id; undefined if the viewer sees no such chain. */
  chains: DataLoader<string, ChainRow | undefined>
  /** Ids of sessions, oldest first. */
  chainAttempts: DataLoader<AttemptWindow, string[], string>
  chainTimelines: DataLoader<AttemptWindow, RecordedAttempts, string>
  chainChanges: PageLoader<ChainChange>
  chainChangeCount: DataLoader<string, number>
  chainEpochs: DataLoader<string, ChainEpoch[]>
  chainTotals: DataLoader<string, ChainTotalRow[]>
  /** Checkpoints by chain; null if the chain stores nothing. */
  keptCheckpoints: DataLoader<string, KeptCheckpointRow | null>
  /** Schedules by id; undefined if the viewer sees no such schedule. */
  schedules: DataLoader<string, ScheduleRecord | undefined>
  /** Keyed by chain; undefined if no schedule created it. */
  scheduleOfChain: DataLoader<string, ScheduleRecord | undefined>
  lastRuns: PageLoader<ScheduleRunRow>
}

/** The connections that loaders read with, and the viewer they read for. */
export type LoaderSource = Pick<ServiceContext, 'db' | 'viewer'> & { prisma: PrismaClient; readSessions: ReadSessions }

export const createLoaders = lazily<LoaderSource, Loaders>({
  now: readNow,
  sessions: ({ readSessions, viewer }) => createSessionLoader(readSessions, viewer),
  pendingReasons: (source) => valueLoader((ids) => explainPendingSessions(source, ids)),
  impossible: (source) =>
    new DataLoader(async (ids) => {
      const found = await findImpossible(source, ids)
      return ids.map((id) => found.has(id))
    }),
  startNotes: (source) => valueLoader((ids) => readStartNotes(source, ids)),
  progress: (source) => valueLoader((ids) => readProgress(source, ids)),
  groups: (source) => valueLoader((ids) => readGroups(source, ids)),
  groupDependencies: (source) =>
    new DataLoader(async (ids) => {
      const found = await readGroupDependencies(source, ids)
      return ids.map((id) => found.get(id) ?? [])
    }),
  runningMembers: (source) =>
    new DataLoader((groups) => countRunningMembers(source, groups), { cacheKeyFn: ({ id }) => id }),
  memberStates: (source) =>
    alikeLoader(
      async (wanted, { after, limit }) => {
        const pages = await readMemberStates(
          source,
          wanted.map(({ id }) => id),
          { after, limit },
        )
        return wanted.map(({ id }) => pages.get(id)!)
      },
      ({ id }) => id,
      ({ after, limit }) => `${after}:${limit}`,
    ),
  memberRanges: (source) =>
    alikeLoader(
      async (wanted, { size }) => {
        const groups = wanted.map(({ group }) => group)
        const rows = Map.groupBy(await readMemberRanges(source, groups, size), ({ groupId }) => groupId)
        return groups.map(({ id }) => rows.get(id) ?? [])
      },
      ({ group }) => group.id,
      ({ size }) => String(size),
    ),
  groupFailures: (source) =>
    manyLoader(
      (ids) => readGroupFailures(source, ids),
      (row) => row.groupId,
    ),
  groupStarts: (source) => new DataLoader((ids) => readStarts(source, ids)),
  groupMembers: (source) =>
    new DataLoader((members) => findGroupMembers(source, members), {
      cacheKeyFn: ({ groupId, index }) => `${groupId} ${index}`,
    }),
  failureGroupOfSession: (source) =>
    new DataLoader(async (ids) => {
      const [groups, span] = [await readGroupsOfFailed(source, ids), await spanOf(source, {})]
      return ids.map((id) => {
        const group = groups.get(id)
        return group === undefined ? null : { group, span, figures: null }
      })
    }),
  failureFigures: (source) =>
    alikeLoader(
      async (wanted, { span }) => {
        const found = await readFigures(source, span, groupIdsOf(wanted))
        return wanted.map(({ group }) => found.get(group.id) ?? null)
      },
      ({ group }) => group.id,
      spanKey,
    ),
  failurePlaces: (source) =>
    alikeLoader(
      async (wanted, { span }) => {
        const found = await readPlaces(source, span, groupIdsOf(wanted))
        return wanted.map(({ group }) => found.get(group.id)!)
      },
      ({ group }) => group.id,
      spanKey,
    ),
  outputs: (source) => valueLoader((ids) => readOutputs(source, ids)),
  sessionActions: (source) =>
    new DataLoader(async (ids) => {
      const actions = await readSessionActions(source, ids)
      return ids.map((id) => actions.get(id) ?? [])
    }),
  tokenRoles: (source) => valueLoader((ids) => readTokenRoles(source, ids)),
  history: (source) =>
    pageLoader(
      (entityIds, after, limit, end) => readSchedulingHistory(source, { entityIds, after, limit, ...end }),
      (row) => row.entityId,
    ),
  historyCount: (source) => countLoader((ids) => countSchedulingHistory(source, ids)),
  logs: (source) => {
    const placeKey = ({ after, before, backward, size, since }: LogPlace) =>
      `${after}:${before}:${backward}:${size}:${since?.getTime()}`
    return new DataLoader(
      async (requests) => {
        const groups = Map.groupBy(requests, placeKey)
        const pages = new Map<string, Map<string, LogPage>>()
        await Promise.all(
          [...groups].map(async ([key, group]) => {
            const kernelIds = group.map(({ kernelId }) => kernelId)
            pages.set(key, await readKernelLogs(source, kernelIds, group[0]!))
          }),
        )
        return requests.map((request) => pages.get(placeKey(request))?.get(request.kernelId))
      },
      { cacheKeyFn: (request) => `${request.kernelId}:${placeKey(request)}` },
    )
  },
  logSizes: (source) =>
    new DataLoader(async (ids) => {
      const sizes = await readLogSizes(source, ids)
      return ids.map((kernelId) => sizes.get(kernelId) ?? { kernelId, bytes: 0, truncated: false })
    }),
  logCount: (source) => countLoader((ids) => countKernelLogs(source, ids)),
  quotas: (source) =>
    new DataLoader((keys) => readQuotasOf(source, keys), {
      cacheKeyFn: ({ scope, scopeId }) => `${scope}/${scopeId}`,
    }),
  resubmissionItems: (source) =>
    pageLoader(
      (lists, after, limit) => readResubmissionItems(source, { lists, after, limit }),
      (row) => row.list,
    ),
  resubmissionItemCount: (source) => countLoader((lists) => countResubmissionItems(source, lists)),
  resubmissionRefusals: (source) =>
    manyLoader(
      (ids) => readRefusalCounts(source, ids),
      (row) => row.resubmissionId,
    ),
  groupSlots: (source) =>
    manyLoader(
      (names) => readGroupSlots(source, names),
      (row) => row.resourceGroup,
    ),
  chains: (source) =>
    new DataLoader(async (ids) => {
      const rows = new Map((await readChains(source, ids)).map((row) => [row.chainId, row]))
      return ids.map((id) => rows.get(id))
    }),
  chainAttempts: (source) =>
    new DataLoader((windows: readonly AttemptWindow[]) => readChainAttempts(source, windows), {
      cacheKeyFn: windowKey,
    }),
  chainTimelines: (source) =>
    new DataLoader((windows: readonly AttemptWindow[]) => readChainTimelines(source, windows), {
      cacheKeyFn: windowKey,
    }),
  chainChanges: (source) =>
    pageLoader(
      (chainIds, after, limit) => readChainChanges(source, { chainIds, after, limit }),
      (row) => row.chainId,
    ),
  chainChangeCount: (source) => countLoader((ids) => countChainChanges(source, ids)),
  chainEpochs: (source) =>
    manyLoader(
      (ids) => readChainEpochs(source, ids),
      (row) => row.chainId,
    ),
  chainTotals: (source) =>
    manyLoader(
      (ids) => readChainTotals(source, ids),
      (row) => row.chainId,
    ),
  keptCheckpoints: (source) =>
    new DataLoader(async (ids) => {
      const rows = new Map((await readKeptCheckpoints(source, ids)).map((row) => [row.chainId, row]))
      return ids.map((id) => rows.get(id) ?? null)
    }),
  schedules: (source) =>
    new DataLoader(async (ids) => {
      const rows = new Map((await readSchedules(source, ids)).map((row) => [row.id, row]))
      return ids.map((id) => rows.get(id))
    }),
  scheduleOfChain: (source) =>
    new DataLoader(async (chainIds) => {
      const rows = await readSchedulesOfChains(source, chainIds)
      return chainIds.map((id) => rows.get(id))
    }),
  lastRuns: (source) =>
    pageLoader(
      (ids, _after, limit) => readLastRuns(source, ids, limit),
      (row) => row.scheduleId,
    ),
  ...deploymentLoaders,
  ...agentLoaders,
  ...insightLoaders,
})

function windowKey({ chainId, after, limit }: AttemptWindow): string {
  return `${chainId}:${after}:${limit}`
}

function groupIdsOf(wanted: readonly ShownFailureGroup[]): string[] {
  return wanted.map(({ group }) => group.id)
}

function spanKey({ span }: ShownFailureGroup): string {
  return `${span.from.toISOString()} ${span.to.toISOString()}`
}

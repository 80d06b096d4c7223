import DataLoader from 'dataloader'
import {
  type BreakerRow,
  type FailureGroupRow,
  findSimilarGroups,
  readBreakers,
  readFailureGroups,
  readMergedGroups,
  type SimilarFailureGroup,
} from '../../services/insight/failure-groups.ts'
import { readLastSuccessOf } from '../../services/insight/compare-sessions.ts'
import type { ServiceContext } from '../../services/service-context.ts'
import { valueLoader } from './loader-kinds.ts'
import {
  type Queue,
  readQueues,
  readUsualDurations,
  type ShownDuration,
  type WorkName,
} from '../../services/session/read-queue.ts'

type Source = Pick<ServiceContext, 'db' | 'viewer'>

/** Loaders for what sessions say, take and are like: one statement for all keys of the same tick. */
export interface InsightLoaders {
  /** Keyed by resource group. */
  queues: DataLoader<string, Queue>
  usualDurations: DataLoader<WorkName, ShownDuration, string>
  /** Keyed by session; null if no other session of its name has succeeded. */
  lastSuccess: DataLoader<string, string | null>
  /** Keyed by the group into which they are merged. */
  mergedFailureGroups: DataLoader<string, FailureGroupRow[]>
  /** Keyed by group; null if it is closed. */
  retryBreakers: DataLoader<string, BreakerRow | null>
  /** Null if the viewer sees no such group. */
  failureGroups: DataLoader<string, FailureGroupRow | null>
  similarFailureGroups: DataLoader<FailureGroupRow, SimilarFailureGroup[], string>
}

const EMPTY: Queue = { order: [], isLonger: false, places: new Map() }

export const insightLoaders = {
  queues: (source: Source) =>
    new DataLoader<string, Queue>(async (groups) => {
      const queues = await readQueues(source, groups)
      return groups.map((group) => queues.get(group) ?? EMPTY)
    }),
  usualDurations: (source: Source) =>
    new DataLoader<WorkName, ShownDuration, string>((names) => readUsualDurations(source, names), {
      cacheKeyFn: ({ projectId, name }) => `${projectId} ${name}`,
    }),
  lastSuccess: (source: Source) => new DataLoader<string, string | null>((ids) => readLastSuccessOf(source, ids)),
  mergedFailureGroups: (source: Source) =>
    new DataLoader<string, FailureGroupRow[]>(async (ids) => {
      const merged = await readMergedGroups(source, ids)
      return ids.map((id) => merged.get(id) ?? [])
    }),
  retryBreakers: (source: Source) => valueLoader<string, BreakerRow>((ids) => readBreakers(source, ids)),
  failureGroups: (source: Source) => valueLoader<string, FailureGroupRow>((ids) => readFailureGroups(source, ids)),
  similarFailureGroups: (source: Source) =>
    new DataLoader<FailureGroupRow, SimilarFailureGroup[], string>((groups) => findSimilarGroups(source, groups), {
      cacheKeyFn: ({ id }) => id,
    }),
}

import DataLoader from 'dataloader'
import {
  type FailureGroupRow,
  findSimilarGroups,
  readFailureGroups,
  readMergedGroups,
  type SimilarFailureGroup,
} from '../../services/insight/failure-groups.ts'
import { readLastSuccessOf } from '../../services/insight/compare-sessions.ts'
import type { ServiceContext } from '../../services/service-context.ts'

type Source = Pick<ServiceContext, 'db' | 'viewer'>

/** Loaders for what sessions say, take and are like: one statement for all keys of the same tick. */
export interface InsightLoaders {
  /** Keyed by session; null if no other session of its name has succeeded. */
  lastSuccess: DataLoader<string, string | null>
  /** Keyed by the group into which they are merged. */
  mergedFailureGroups: DataLoader<string, FailureGroupRow[]>
  /** Null if the viewer sees no such group. */
  failureGroups: DataLoader<string, FailureGroupRow | null>
  similarFailureGroups: DataLoader<FailureGroupRow, SimilarFailureGroup[], string>
}

export const insightLoaders = {
  lastSuccess: (source: Source) => new DataLoader<string, string | null>((ids) => readLastSuccessOf(source, ids)),
  mergedFailureGroups: (source: Source) =>
    new DataLoader<string, FailureGroupRow[]>(async (ids) => {
      const merged = await readMergedGroups(source, ids)
      return ids.map((id) => merged.get(id) ?? [])
    }),
  failureGroups: (source: Source) =>
    new DataLoader<string, FailureGroupRow | null>(async (ids) => {
      const groups = await readFailureGroups(source, ids)
      return ids.map((id) => groups.get(id) ?? null)
    }),
  similarFailureGroups: (source: Source) =>
    new DataLoader<FailureGroupRow, SimilarFailureGroup[], string>((groups) => findSimilarGroups(source, groups), {
      cacheKeyFn: ({ id }) => id,
    }),
}

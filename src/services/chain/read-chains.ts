import { CHAIN_STATES, type ChainState } from '../../domain/chain/chain-state.ts'
import {
  flattenOverrides,
  specDifference,
  type SpecDifference,
  type SpecOverride,
} from '../../domain/chain/spec-difference.ts'
import { COUNTED_ROWS_MAX, EPOCHS_LISTED_MAX } from '../../domain/limits.ts'
import { countChains as count, countChainStates as countStates } from '../../store/sql/chain/count-chains.sql.ts'
import { listChains as list, selectionOf, type ChainsQuery } from '../../store/sql/chain/list-chains.sql.ts'
import { readChainAttempts as readAttempts, type AttemptWindow } from '../../store/sql/chain/read-chain-attempts.sql.ts'
import {
  countChainChanges as countChanges,
  readChainChanges as readChanges,
  type AttemptRow,
} from '../../store/sql/chain/read-chain-changes.sql.ts'
import { readChainEpochs as readEpochs, type EpochRow } from '../../store/sql/chain/read-chain-epochs.sql.ts'
import { readChainIds } from '../../store/sql/chain/read-chain-ids.sql.ts'
import { readChainTotals as readTotals, type ChainTotalRow } from '../../store/sql/chain/read-chain-totals.sql.ts'
import {
  readChainTimelines as readTimelines,
  type RecordedAttempts,
} from '../../store/sql/chain/read-chain-timelines.sql.ts'
import { readChains as read, type ChainRow } from '../../store/sql/chain/read-chains.sql.ts'
import {
  readKeptCheckpoints as readKept,
  type KeptCheckpointRow,
} from '../../store/sql/chain/read-kept-checkpoints.sql.ts'
import type { ChainConditions } from '../../store/sql/chain/chain-conditions.sql.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { shownField } from '../session/shown-environ.ts'

export type { ChainConditions }
export type { ChainKey, ChainOrder, ChainPlace, ListedChain } from '../../store/sql/chain/list-chains.sql.ts'
export type { AttemptWindow, ChainRow, ChainTotalRow, RecordedAttempts }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>
/** Reads chains that the viewer is known to see. */
type SeenReader = Pick<ServiceContext, 'db' | 'viewer'>

/** Those that the viewer sees, in no order. */
export function readChains({ db, viewer }: Reader, chainIds: readonly string[]): Promise<ChainRow[]> {
  return read(db, chainIds, viewer.projectId)
}

/** Undefined if the viewer sees no such session. */
export async function findChainOfSession({ db, viewer }: Reader, sessionId: string): Promise<string | undefined> {
  return (await readChainIds(db, [sessionId], viewer.projectId)).get(sessionId)
}

export function listChains({ db, viewer }: Reader, query: Omit<ChainsQuery, 'visibleProjectId'>) {
  return list(db, { ...query, visibleProjectId: viewer.projectId })
}

/** How many chains are on all pages of this order, up to one more than COUNTED_ROWS_MAX. */
export function countChains(
  { db, viewer }: Reader,
  { conditions, order }: Pick<ChainsQuery, 'conditions' | 'order'>,
): Promise<number> {
  const visibleProjectId = viewer.projectId
  return count(db, selectionOf({ conditions, order, visibleProjectId, countMax: COUNTED_ROWS_MAX + 1 }))
}

export interface ChainStateCount {
  state: ChainState
  count: number
  /** Whether there are no more. */
  isExact: boolean
}

/** How many chains of these conditions, but for the state, are in each state, up to COUNTED_ROWS_MAX. */
export async function countChainStates(
  { db, viewer }: Reader,
  { states: _any, ...conditions }: ChainConditions,
): Promise<ChainStateCount[]> {
  const query = { conditions, visibleProjectId: viewer.projectId, countMax: COUNTED_ROWS_MAX + 1 }
  const counted = new Map((await countStates(db, query)).map(({ state, count: found }) => [state, found]))
  return CHAIN_STATES.map((state) => {
    const found = counted.get(state) ?? 0
    return { state, count: Math.min(found, COUNTED_ROWS_MAX), isExact: found <= COUNTED_ROWS_MAX }
  })
}

interface PageOfEach {
  chainIds: readonly string[]
  /** Number of the attempt before the page, decimal. */
  after: string
  limit: number
}

/** Ids of sessions, oldest first, in the order of the windows. */
export function readChainAttempts({ db }: SeenReader, windows: readonly AttemptWindow[]): Promise<string[][]> {
  return readAttempts(db, windows)
}

/** What timelines are made of, in the order of the windows. */
export function readChainTimelines({ db }: SeenReader, windows: readonly AttemptWindow[]): Promise<RecordedAttempts[]> {
  return readTimelines(db, windows)
}

export interface ChainChange extends AttemptRow {
  differences: SpecDifference[]
}

/** Attempts whose spec differs from that of the attempt before, with the differences. */
export async function readChainChanges(
  { db, viewer }: SeenReader,
  { chainIds, after, limit }: PageOfEach,
): Promise<ChainChange[]> {
  const rows = await readChanges(db, chainIds, after, limit)
  return rows.map(({ before, after: now, ...attempt }) => ({
    ...attempt,
    differences: specDifference(before, now).map((difference) => shownDifference(viewer, difference)),
  }))
}

function shownDifference(viewer: Viewer, { field, before, after }: SpecDifference): SpecDifference {
  return { field, before: shownField(viewer, field, before), after: shownField(viewer, field, after) }
}

export function countChainChanges({ db }: SeenReader, chainIds: readonly string[]): Promise<Map<string, number>> {
  return countChanges(db, chainIds)
}

/** One row for each outcome in each chain, the most frequent first. */
export function readChainTotals({ db }: SeenReader, chainIds: readonly string[]): Promise<ChainTotalRow[]> {
  return readTotals(db, chainIds)
}

/** Chains that store nothing are missing. */
export function readKeptCheckpoints({ db }: SeenReader, chainIds: readonly string[]): Promise<KeptCheckpointRow[]> {
  return readKept(db, chainIds)
}

export type { KeptCheckpointRow }

export interface ChainEpoch extends Omit<EpochRow, 'overrides' | 'specBefore'> {
  overrides: SpecOverride[]
}

export async function readChainEpochs({ db, viewer }: SeenReader, chainIds: readonly string[]): Promise<ChainEpoch[]> {
  const rows = await readEpochs(db, chainIds, EPOCHS_LISTED_MAX)
  return rows.map(({ overrides, specBefore, ...row }) => ({
    ...row,
    overrides: flattenOverrides(overrides ?? {}, specBefore ?? {}).map(({ field, value, before }) => ({
      field,
      value: shownField(viewer, field, value),
      before: shownField(viewer, field, before),
    })),
  }))
}

import { COUNTED_ROWS_MAX, EPOCHS_LISTED_MAX } from '../domain/limits.ts'
import { readNow } from '../store/sql/server.sql.ts'
import {
  assemblePage,
  decodeKeyset,
  encodeKeyset,
  invalidCursor,
  type OrderColumn,
  type Page,
  type PageArguments,
  pageSize,
} from './paging.ts'
import type { ServiceContext, Viewer } from './service-context.ts'
import {
  CHAIN_STATES,
  chainState,
  FILTERED_CHAIN_STATES,
  type ChainState,
  storedStates,
} from '../domain/chain/outlook.ts'
import {
  flattenOverrides,
  specDifference,
  type SpecDifference,
  type SpecOverride,
} from '../domain/chain/spec-difference.ts'
import {
  type ChainKey,
  type ChainOrder,
  type ChainPlace,
  type ChainsQuery,
  countChains as count,
  countChainStates as countStates,
  listChains as list,
  type ListedChain,
  selectionOf,
} from '../store/sql/chain/list-chains.sql.ts'
import {
  type ChainEndRow,
  type ChainRow,
  type ChainTotalRow,
  type EpochRow,
  type KeptCheckpointRow,
  readChains as read,
  readChainAttempts as readAttempts,
  readChainIds,
  readChainEnds as readEnds,
  readChainEpochs as readEpochs,
  readKeptCheckpoints as readKept,
  readChainTotals as readTotals,
} from '../store/sql/chain/read-chains.sql.ts'
import type { AttemptWindow } from '../store/sql/chain/chain-timelines.sql.ts'
import {
  type AttemptRow,
  countChainChanges as countChanges,
  readChainChanges as readChanges,
  readChainTimelines as readTimelines,
  type RecordedAttempts,
} from '../store/sql/chain/chain-timelines.sql.ts'
import type { ChainConditions } from '../store/sql/chain/chain-conditions.sql.ts'
import { splitsPending } from '../store/sql/chain/live-chains.sql.ts'
import { divideDemands, findImpossible } from './session/explain-pending.ts'
import { shownField } from './session/session-fields.ts'
import { RepriseError } from '../domain/errors.ts'
import type { ReadContext } from './session/read-sessions.ts'

export interface WantedOrder {
  order: ChainOrder
  direction: 'asc' | 'desc'
}

/**
 * Reads a page of chains, from either end.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readChainPage(
  context: Pick<ServiceContext, 'db' | 'viewer'>,
  { conditions: given, wanted, args }: { conditions: ChainConditions; wanted: WantedOrder; args: PageArguments },
): Promise<Page<ListedChain>> {
  const { size, backward } = pageSize(args)
  const conditions = await withDemands(context, given)
  const after = decodeChain(wanted, 'after', args.after)
  const before = decodeChain(wanted, 'before', args.before)
  const asOfMs = after?.asOfMs ?? before?.asOfMs ?? (await totalsUpTo(context, wanted))
  const rows = await listChains(context, {
    conditions,
    order: wanted.order,
    // A page from the end is read in the opposite direction.
    direction: backward === (wanted.direction === 'asc') ? 'desc' : 'asc',
    asOfMs,
    after: present(backward ? before : after),
    before: present(backward ? after : before),
    limit: size + 1,
  })
  return assemblePage({
    args,
    rows,
    cursorOf: (row) => encodeChain(wanted, row, asOfMs),
    count: () => countChains(context, { conditions, order: wanted.order }),
    countMax: COUNTED_ROWS_MAX,
  })
}

/** A position in an order, and the moment up to which totals are counted, so that all pages of one listing agree. */
interface ChainCursor extends ChainPlace {
  asOfMs: number
}

const KEY_TYPES: Record<ChainOrder, OrderColumn['type']> = {
  ACTIVITY: 'date',
  ATTEMPTS: 'number',
  TOTAL_TIME: 'number',
  NAME: 'text',
  CREATED_AT: 'date',
  DUE_AT: 'date',
}

export type { ChainConditions }
export type { ChainOrder, ChainPlace, ListedChain }
export type { AttemptWindow, ChainRow, ChainTotalRow, RecordedAttempts }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>
/** A reader of chains that the viewer is known to see. */
type SeenReader = Pick<ServiceContext, 'db' | 'viewer'>

/** Reads the chains that the viewer sees, in no order. */
export function readChains({ db, viewer }: Reader, chainIds: readonly string[]): Promise<ChainRow[]> {
  return read(db, chainIds, viewer.projectId)
}

/** Returns undefined if the viewer sees no such session. */
export async function findChainOfSession({ db, viewer }: Reader, sessionId: string): Promise<string | undefined> {
  return (await readChainIds(db, [sessionId], viewer.projectId)).get(sessionId)
}

/**
 * Finds the chain of each session. @throws RepriseError SESSION_NOT_FOUND for the first that the viewer does not see
 */
export async function chainsOfSessions(
  { db, viewer }: Reader,
  sessionIds: readonly string[],
): Promise<Map<string, string>> {
  const found = await readChainIds(db, sessionIds, viewer.projectId)
  const missing = sessionIds.find((id) => !found.has(id))
  if (missing !== undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${missing}`)
  return found
}

export type { ChainEndRow }

/** Reads, by chain, the ends of those that have ended. The caller has checked that the viewers may see them. */
export async function readChainEnds(
  { db }: Pick<ServiceContext, 'db'>,
  chainIds: readonly string[],
): Promise<Map<string, ChainEndRow>> {
  return new Map((await readEnds(db, chainIds)).map((row) => [row.chainId, row]))
}

export function listChains({ db, viewer }: Reader, query: Omit<ChainsQuery, 'visibleProjectId'>) {
  return list(db, { ...query, visibleProjectId: viewer.projectId })
}

export interface ChainStateCount {
  state: ChainState
  count: number
  /** False if there are more than counted. */
  isExact: boolean
}

/** Adds to conditions what they need to tell QUEUED from IMPOSSIBLE. */
export async function withDemands(context: Reader, conditions: ChainConditions): Promise<ChainConditions> {
  const { live } = storedStates(conditions.states ?? FILTERED_CHAIN_STATES)
  return splitsPending(live) ? { ...conditions, pending: await divideDemands(context) } : conditions
}

/**
 * Counts the chains in each state that match the other conditions, up to COUNTED_ROWS_MAX. Most often the chains in LIVE
 * are many and those that run, or wait in vain, are few: then only these are counted, and the others are the rest.
 */
export async function countChainStates(
  context: Reader,
  { states: _any, ...conditions }: ChainConditions,
): Promise<ChainStateCount[]> {
  const visibleProjectId = context.viewer.projectId
  const countMax = COUNTED_ROWS_MAX + 1
  const stored = await countStates(context.db, { conditions, visibleProjectId, countMax })
  const counted = new Map<string, number>(stored.map(({ state, count: found }) => [state, found]))
  const total = counted.get('LIVE') ?? 0
  if (total > 0) {
    const pending = await divideDemands(context)
    const countOf = (state: ChainState) =>
      count(context.db, { conditions: { ...conditions, pending, states: [state] }, visibleProjectId, countMax })
    const running = await countOf('RUNNING')
    const impossible = pending.impossible.length === 0 ? 0 : await countOf('IMPOSSIBLE')
    counted.set('RUNNING', running).set('IMPOSSIBLE', impossible)
    const rest = Math.max(0, total - running - impossible)
    counted.set('QUEUED', total < countMax ? rest : rest === countMax ? countMax : await countOf('QUEUED'))
  }
  return CHAIN_STATES.map((state) => {
    const found = counted.get(state) ?? 0
    return { state, count: Math.min(found, COUNTED_ROWS_MAX), isExact: found <= COUNTED_ROWS_MAX }
  })
}

interface PageOfEach {
  chainIds: readonly string[]
  /** Number of the attempt before the page, in decimal. */
  after: string
  limit: number
}

/** Reads the ids of sessions, oldest first, in the order of the windows. */
export function readChainAttempts({ db }: SeenReader, windows: readonly AttemptWindow[]): Promise<string[][]> {
  return readAttempts(db, windows)
}

/** Reads the records that timelines are derived from, in the order of the windows. */
export function readChainTimelines({ db }: SeenReader, windows: readonly AttemptWindow[]): Promise<RecordedAttempts[]> {
  return readTimelines(db, windows)
}

export interface ChainChange extends AttemptRow {
  differences: SpecDifference[]
}

/** Reads attempts whose spec differs from that of the previous attempt, with the differences. */
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

export function countChainChanges({ db }: SeenReader, chainIds: readonly string[]): Promise<Map<string, number>> {
  return countChanges(db, chainIds)
}

/** Reads one row for each outcome in each chain, the most frequent first. */
export function readChainTotals({ db }: SeenReader, chainIds: readonly string[]): Promise<ChainTotalRow[]> {
  return readTotals(db, chainIds)
}

/** Reads the checkpoints of chains; chains without one are missing. */
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

/** Complete chains, for REST; GraphQL reads only what its query selects. */
export interface ChainRecord extends Omit<ChainRow, 'state'> {
  state: ChainState
  /** The project's name. */
  project: string
}

/** @throws RepriseError SESSION_NOT_FOUND */
export async function readChain(context: ReadContext, chainId: string): Promise<ChainRecord> {
  const [chain] = await withProjects(context, await readChains(context, [chainId]))
  if (!chain) throw new RepriseError('SESSION_NOT_FOUND', `no chain ${chainId}`)
  return chain
}

/** @throws RepriseError VALIDATION_FAILED */
export async function readChainRecords(
  context: ReadContext,
  options: { conditions: ChainConditions; wanted: WantedOrder; args: PageArguments },
): Promise<Page<ChainRecord>> {
  const page = await readChainPage(context, options)
  const nodes = await withProjects(
    context,
    page.edges.map(({ node }) => node),
  )
  return { ...page, edges: page.edges.map(({ cursor }, index) => ({ cursor, node: nodes[index]! })) }
}

/** The moment up to which totals are counted; only the order by total time needs it. */
async function totalsUpTo({ db }: Pick<ServiceContext, 'db'>, { order }: WantedOrder): Promise<number> {
  return order === 'TOTAL_TIME' ? (await readNow(db)).getTime() : 0
}

function present<T>(value: T | null): T[] {
  return value === null ? [] : [value]
}

function encodeChain(wanted: WantedOrder, row: ListedChain, asOfMs: number): string {
  const { key, chainId } = row
  return encodeKeyset(columns(wanted), { asOf: asOfMs, [wanted.order]: key, chainId })
}

/**
 * Decodes a cursor; null if there is none.
 * @throws RepriseError if the cursor does not belong to this order
 */
function decodeChain(
  wanted: WantedOrder,
  name: 'after' | 'before',
  cursor: string | null | undefined,
): ChainCursor | null {
  if (cursor == null) return null
  const values = decodeKeyset(columns(wanted), cursor)
  if (!values) throw invalidCursor(name)
  const [asOfMs, key, chainId] = values as [number, ChainKey, string]
  return { asOfMs, key, chainId }
}

function columns({ order, direction }: WantedOrder): OrderColumn[] {
  return [
    { column: 'asOf', direction, type: 'number' },
    { column: order, direction, type: KEY_TYPES[order] },
    { column: 'chainId', direction, type: 'uuid' },
  ]
}

/** Counts the chains on all pages of this order, up to one more than COUNTED_ROWS_MAX. */
function countChains(
  { db, viewer }: Reader,
  { conditions, order }: Pick<ChainsQuery, 'conditions' | 'order'>,
): Promise<number> {
  const visibleProjectId = viewer.projectId
  return count(db, selectionOf({ conditions, order, visibleProjectId, countMax: COUNTED_ROWS_MAX + 1 }))
}

function shownDifference(viewer: Viewer, { field, before, after }: SpecDifference): SpecDifference {
  return { field, before: shownField(viewer, field, before), after: shownField(viewer, field, after) }
}

async function withProjects(context: ReadContext, chains: readonly ChainRow[]): Promise<ChainRecord[]> {
  const id = { in: [...new Set(chains.map(({ projectId }) => projectId))] }
  const [projects, impossible] = await Promise.all([
    chains.length === 0 ? [] : context.prisma.project.findMany({ where: { id } }),
    findImpossible(
      context,
      chains.flatMap(({ status, tailId }) => (status === 'PENDING' ? [tailId] : [])),
    ),
  ])
  const names = new Map(projects.map((project) => [project.id, project.name]))
  return chains.map((chain) => ({
    ...chain,
    project: names.get(chain.projectId)!,
    state: chainState(chain.state, chain.status, impossible.has(chain.tailId)),
  }))
}

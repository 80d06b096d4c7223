import {
  effectiveShare,
  type FigureGrouping,
  figureSpans,
  type FigureSpans,
  isOfFailures,
  medianSeconds,
  type RetrySuccess,
  successByRetry,
  type TimeSpan,
  wholeDays,
} from '../../domain/insight/figures.ts'
import {
  FIGURE_GROUPS_DEFAULT,
  FIGURE_GROUPS_MAX,
  FIGURE_SPAN_EXACT_MS,
  FIGURE_SPAN_DEFAULT_MS,
  FILTERED_FAILURES_MAX,
  STATISTICS_TIMEOUT_MS,
} from '../../domain/limits.ts'
import { ruleInWords } from '../../domain/retry/explain.ts'
import type { RetryRule } from '../../domain/retry/policy/policy.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-text.ts'
import {
  type FigureOrder,
  type FigurePage,
  type FigureSums,
  NO_SUMS,
  readFigures,
  readFigureSeries,
  readFigureTitles,
  readRetryFigures,
  type RetryRow,
  type WantedFigures,
} from '../../store/sql/insight/read-figures.sql.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import type { SessionWhere } from '../../store/prisma.ts'
import { argumentError, refuseUnstorable } from '../input/parse-input.ts'
import type { ReadContext as AnyReadContext } from '../session/read-sessions.ts'
import { isEmptyWhere, type SessionFilterInput, sessionWhere } from '../session/session-where.ts'

type ReadContext = Pick<AnyReadContext, 'db' | 'viewer' | 'prisma'>

export interface FiguresInput {
  filter?: SessionFilterInput | null
  /** When attempts ended; the last 30 days if missing. */
  window?: { from?: Date | null; to?: Date | null } | null
  groupBy: FigureGrouping
  /** Only for LABEL, and necessary there. */
  labelKey?: string | null
  /** The most groups; FIGURE_GROUPS_DEFAULT if missing. */
  first?: number | null
}

/** Amounts of slots for a time: CPUs and GPUs times seconds, memory in bytes times seconds. */
export interface SlotSeconds {
  cpu: number
  mem: number
  gpu: number
}

/** The attempts that have one value of a property. */
export interface FigureGroup {
  /** Null if they have none. */
  key: string | null
  /** The name that people know it by; the key if it has no other. Null if they have none. */
  title: string | null
}

export interface RetryInsight extends FigureGroup {
  attempts: number
  failed: number
  retries: number
  chainsSaved: number
  chainsLost: number
  runningSecondsLost: number
  slotSecondsLost: SlotSeconds
  waitingSeconds: number
  effectiveShare: number | null
  /** Read once for all groups of the answer, like the series. */
  retried: () => Promise<RetriedInsight>
  series: () => Promise<InsightPoint[]>
}

/** How the retries of a group ended. */
export interface RetriedInsight {
  successByRetry: RetrySuccess[]
  medianSecondsToSuccess: number | null
}

/** What attempts came to that ended within an hour or a day. */
export interface InsightPoint {
  from: Date
  attempts: number
  failed: number
  runningSecondsLost: number
  slotSecondsLost: SlotSeconds
}

/**
 * Reads what failures and retries came to, those that lost most CPU time first. A filter by more than the project is
 * answered from the attempts themselves, of which it may match at most FILTERED_FAILURES_MAX.
 *
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readRetryInsights(context: ReadContext, input: FiguresInput): Promise<RetryInsight[]> {
  const { wanted, rows, window } = await readGroups(context, input, { order: 'LOST' })
  const keys = rows.map(({ key }) => key)
  const retried = once(async () => {
    const found = await readRetryFigures(context.db, wanted, keys, STATISTICS_TIMEOUT_MS)
    return new Map(found.map((row) => [row.key, row]))
  })
  const series = once(async () => {
    const hourly = isShort(window)
    const all = hourly ? { ...wanted, spans: { days: null, edges: [window] } } : wanted
    const points = await readFigureSeries(context.db, all, { keys, hourly }, STATISTICS_TIMEOUT_MS)
    return Map.groupBy(points, ({ key }) => key)
  })
  return rows.map((row) => ({
    ...insightOf(row, input.groupBy),
    retried: async () => retriedOf((await retried()).get(row.key)),
    series: async () => ((await series()).get(row.key) ?? []).map((point) => pointOf({ ...NO_SUMS, ...point })),
  }))
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined
  return () => (value ??= read())
}

function retriedOf({ counts, times }: Pick<RetryRow, 'counts' | 'times'> = { counts: [], times: [] }): RetriedInsight {
  return { successByRetry: successByRetry(counts), medianSecondsToSuccess: medianSeconds(times) }
}

function insightOf(row: TitledRow, groupBy: FigureGrouping): Omit<RetryInsight, 'series' | 'retried'> {
  const time = {
    usefulSeconds: row.useful_ms / 1_000,
    runningSeconds: row.spent_ms / 1_000,
    waitingSeconds: row.waited_ms / 1_000,
  }
  return {
    key: row.key === '' ? null : row.key,
    title: row.title,
    attempts: row.attempts,
    failed: row.failed,
    retries: row.retries,
    chainsSaved: row.saved,
    chainsLost: row.lost,
    ...lossOf(row),
    waitingSeconds: time.waitingSeconds,
    // Groups of failures have no useful time.
    effectiveShare: isOfFailures(groupBy) ? null : effectiveShare(time),
  }
}

function lossOf(sums: FigureSums): Pick<RetryInsight, 'runningSecondsLost' | 'slotSecondsLost'> {
  return {
    runningSecondsLost: sums.lost_ms / 1_000,
    slotSecondsLost: slotSeconds(sums.lost_cpu_ms, sums.lost_memory_mib_ms, sums.lost_gpu_ms),
  }
}

function slotSeconds(cpuMs: number, memoryMibMs: number, gpuMs: number): SlotSeconds {
  return { cpu: cpuMs / 1_000, mem: (memoryMibMs / 1_000) * 1_048_576, gpu: gpuMs / 1_000 }
}

function pointOf({ at, ...sums }: FigureSums & { at: Date }): InsightPoint {
  return { from: at, attempts: sums.attempts, failed: sums.failed, ...lossOf(sums) }
}

/** What sessions of one group have used, of all types, in the hours of a window in which they ran. */
export interface UsageRow extends FigureGroup {
  /** Sessions that ended within the window. */
  sessions: number
  runningSeconds: number
  slotSeconds: SlotSeconds
  /** CPU time that the programs used, as far as it was measured. */
  cpuSecondsUsed: number
}

/**
 * Reads who used the cluster, those who requested most CPU time first. Sessions that run count up to now. Filters as in
 * `readRetryInsights`.
 *
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readUsageRows(context: ReadContext, input: FiguresInput): Promise<UsageRow[]> {
  const { rows } = await readGroups(context, input, { order: 'SPENT', withRunning: true })
  return rows.map((row) => ({
    key: row.key === '' ? null : row.key,
    title: row.title,
    sessions: row.sessions,
    runningSeconds: row.running_ms / 1_000,
    slotSeconds: slotSeconds(row.cpu_ms, row.memory_mib_ms, row.gpu_ms),
    cpuSecondsUsed: row.used_cpu_ms / 1_000,
  }))
}

type TitledRow = FigureSums & { key: string; title: string | null }

async function readGroups(
  context: ReadContext,
  input: FiguresInput,
  { order, withRunning = false }: { order: FigureOrder; withRunning?: boolean },
): Promise<{ wanted: WantedFigures; rows: TitledRow[]; window: TimeSpan }> {
  const { db, viewer } = context
  refuseUnstorable({ labelKey: input.labelKey })
  const { groupBy, labelKey, first } = input
  if ((groupBy === 'LABEL') !== (labelKey != null && labelKey !== ''))
    throw argumentError('labelKey', 'Is necessary to group by LABEL, and only there.')
  const limit = first ?? FIGURE_GROUPS_DEFAULT
  if (limit < 1 || limit > FIGURE_GROUPS_MAX) throw argumentError('first', `Must be 1 to ${FIGURE_GROUPS_MAX}.`)
  const window = await windowOf(context, input.window ?? {})
  const isOpen = input.window?.to == null
  const { project, where } = splitFilter(input.filter)
  const chosen = where === null ? null : await chosenSessions(context, where, { window, withRunning })
  const wanted: WantedFigures = {
    visibleProjectId: viewer.projectId,
    project,
    grouping: groupBy,
    label: labelKey ?? '',
    spans: spansOf(window, { exactly: chosen !== null, withRunning, isOpen }),
    sessionIds: chosen?.ended ?? null,
  }
  const page: FigurePage = { order, limit, ...(withRunning && { running: chosen?.running ?? null }) }
  const rows = await readFigures(db, wanted, page, STATISTICS_TIMEOUT_MS)
  const titles = await readFigureTitles(
    db,
    groupBy,
    rows.map(({ key }) => key),
  )
  const titled = rows.map((row) => ({
    ...NO_SUMS,
    ...row,
    title: row.key === '' ? null : (titles.get(row.key) ?? wordsOf(groupBy, row.key)),
  }))
  return { wanted, rows: titled, window }
}

/** The words for a value of a property that has no name. */
function wordsOf(groupBy: FigureGrouping, key: string): string {
  return groupBy === 'RULE' ? ruleInWords(JSON.parse(key) as RetryRule) : key
}

/**
 * The window is exact for chosen sessions, whose figures are summed up anew. Others are summed up by days, to which long
 * windows are rounded, and all for usage.
 */
function spansOf(
  window: TimeSpan,
  { exactly, withRunning, isOpen }: { exactly: boolean; withRunning: boolean; isOpen: boolean },
): FigureSpans {
  if (exactly) return { days: null, edges: [window] }
  const days = wholeDays(window)
  // Nothing has ended after now: the sums of today are right for a window that ends now.
  if (isShort(window) && !withRunning) return figureSpans(isOpen ? { from: window.from, to: days.to } : window)
  // Sessions that run are not part of any day's sums yet.
  return { days, edges: withRunning ? [days] : [] }
}

function isShort({ from, to }: TimeSpan): boolean {
  return to.getTime() - from.getTime() <= FIGURE_SPAN_EXACT_MS
}

/** @throws RepriseError VALIDATION_FAILED */
async function windowOf(
  { db }: Pick<ReadContext, 'db'>,
  { from, to }: { from?: Date | null; to?: Date | null },
): Promise<TimeSpan> {
  // The end is exclusive, and something may have ended just now.
  const end = to ?? new Date((await readNow(db)).getTime() + 1)
  const begin = from ?? new Date(end.getTime() - FIGURE_SPAN_DEFAULT_MS)
  if (![begin, end].every(isStorableMoment)) throw argumentError('window', STORABLE_MOMENT)
  if (begin >= end) throw argumentError('window', '`from` must be before `to`')
  return { from: begin, to: end }
}

/** The project, by which sums are kept, and the rest of a filter; null for no rest. @throws RepriseError VALIDATION_FAILED */
function splitFilter(filter: SessionFilterInput | null | undefined): {
  project: string | null
  where: SessionWhere | null
} {
  refuseUnstorable(filter, 'filter')
  const { project = null, ...rest } = filter ?? {}
  const others = sessionWhere(rest)
  return isEmptyWhere(others) ? { project, where: null } : { project, where: sessionWhere(filter) }
}

/** The sessions that a filter matches. @throws RepriseError VALIDATION_FAILED if there are too many */
async function chosenSessions(
  { prisma, viewer }: ReadContext,
  where: SessionWhere,
  { window: { from, to }, withRunning }: { window: TimeSpan; withRunning: boolean },
): Promise<{ ended: string[]; running: string[] }> {
  const own = viewer.projectId === null ? {} : { projectId: viewer.projectId }
  const take = FILTERED_FAILURES_MAX + 1
  const inWindow = { endedAt: { gte: from, lt: to } }
  const begun = withRunning ? { endedAt: { gte: from }, OR: [{ startedAt: { lt: to } }, inWindow] } : inWindow
  const ended = await prisma.attemptFigures.findMany({
    where: { ...own, ...begun, session: where },
    select: { sessionId: true },
    take,
  })
  const live = { ...own, status: { in: ['RUNNING', 'TERMINATING'] } } satisfies SessionWhere
  const running = withRunning
    ? await prisma.session.findMany({ where: { AND: [live, where] }, select: { id: true }, take })
    : []
  if (ended.length + running.length >= take)
    throw argumentError(
      'filter',
      `Matches more than ${FILTERED_FAILURES_MAX} sessions of the window. Shorten the window, or filter by the project alone.`,
    )
  return { ended: ended.map(({ sessionId }) => sessionId), running: running.map(({ id }) => id) }
}

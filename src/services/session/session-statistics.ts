import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import {
  FAILURE_GROUPS_MAX,
  STATISTICS_BUCKETS_MAX,
  STATISTICS_RANGE_DEFAULT_SECONDS,
  STATISTICS_RANGE_MAX_SECONDS,
  STATISTICS_TIMEOUT_MS,
} from '../../domain/limits.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-text.ts'
import type { Queryable } from '../../store/database.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import {
  type CountedSessions,
  type CountedSpan,
  countFailures,
  countSessions,
  type FailureCount,
  type FailureGrouping,
  type OutcomeUsage,
  type PendingRetries,
  readOutcomeUsage as readOutcomes,
} from '../../store/sql/session/count-sessions.sql.ts'
import {
  type BucketFigures,
  type CauseFigures,
  countsByStatus,
  figuresByBucket,
  figuresByCause,
  figuresOf,
  type SessionFigures,
} from '../../domain/session/statistics.ts'
import { type SessionStatus, type SessionType, STATUSES } from '../../domain/session/lifecycle.ts'
import { argumentError, refuseUnstorable, withoutNulls } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import type { FailureCause } from '../../domain/session/failure.ts'

interface SpanInput {
  from?: Date | null
  to?: Date | null
}

type Range = Pick<CountedSpan, 'from' | 'to'>
type Span = Range & Pick<CountedSpan, 'bucketSeconds'>

const secondsOf = ({ from, to }: Range) => (to.getTime() - from.getTime()) / 1_000

const QUERY_CANCELED = '57014'

export type { CauseFigures, OutcomeUsage, PendingRetries, SessionFigures }

/** A filter of the counted sessions. */
interface CountedInput extends SpanInput {
  project?: string | null
  /** Exactly this name. */
  name?: string | null
  label?: { key: string; value: string } | null
  /** The name of a resource group. */
  resourceGroup?: string | null
  /** The name of a user. */
  user?: string | null
  sessionType?: readonly SessionType[] | null
}

interface StatisticsInput extends CountedInput {
  bucketSeconds?: number | null
}

export interface SessionStatistics {
  /** The sessions that were counted. */
  counted: CountedSpan
  from: Date
  to: Date
  bucketSeconds: number
  byStatus: { status: SessionStatus; count: number }[]
  byCause: CauseFigures[]
  total: SessionFigures & PendingRetries
  buckets: (BucketFigures & { from: Date; to: Date })[]
}

/**
 * Counts outcomes of the sessions that ended within a period, by default the last day. @throws RepriseError
 * VALIDATION_FAILED
 */
export async function readSessionStatistics(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  input: StatisticsInput,
): Promise<SessionStatistics> {
  const span = await spanOf(db, input)
  const { from, to, bucketSeconds } = span
  const counted = { ...span, ...countedOf(viewer, input) }
  const { over, active, pending } = await countSessions(db, counted, STATISTICS_TIMEOUT_MS).catch(explainTimeout)
  const counts = [...active, ...countsByStatus(over)]
  const bucketMs = bucketSeconds * 1_000
  const figures = figuresByBucket(over, bucketsIn(span))
  return {
    ...span,
    counted,
    byStatus: STATUSES.flatMap((status) => counts.filter((count) => count.status === status)),
    byCause: figuresByCause(over),
    total: { ...figuresOf(over), ...pending },
    buckets: figures.map((each, index) => ({
      ...each,
      from: new Date(from.getTime() + index * bucketMs),
      to: new Date(Math.min(from.getTime() + (index + 1) * bucketMs, to.getTime())),
    })),
  }
}

/**
 * Reads the usage of sessions by their result.
 * @throws RepriseError VALIDATION_FAILED
 */
export function readOutcomeUsage(
  { db }: Pick<ServiceContext, 'db'>,
  { counted }: Pick<SessionStatistics, 'counted'>,
): Promise<OutcomeUsage[]> {
  return readOutcomes(db, counted, STATISTICS_TIMEOUT_MS).catch(explainTimeout)
}

export type { FailureCount }

interface FailureCountsInput extends CountedInput {
  by: FailureGrouping
  causes?: readonly FailureCause[] | null
  timedOut?: boolean | null
  first?: number | null
}

const GROUPS_DEFAULT = 20

/**
 * Counts failures within a period, by default the last day, grouped by a common property. @throws RepriseError
 * VALIDATION_FAILED
 */
export async function readFailureCounts(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  input: FailureCountsInput,
): Promise<FailureCount[]> {
  const { by, causes, timedOut, first } = input
  const limit = first ?? GROUPS_DEFAULT
  if (limit < 1 || limit > FAILURE_GROUPS_MAX) throw argumentError('first', `From 1 to ${FAILURE_GROUPS_MAX}.`)
  const failures = {
    ...(await rangeOf(db, input)),
    ...countedOf(viewer, input),
    by,
    limit,
    ...(causes && { causes: [...new Set(causes)] }),
    ...withoutNulls({ timedOut }),
  }
  return countFailures(db, failures, STATISTICS_TIMEOUT_MS).catch(explainTimeout)
}

/**
 * Determines the time range of statistics, by default the last day.
 * @throws RepriseError VALIDATION_FAILED
 */
async function rangeOf(db: Queryable, input: SpanInput): Promise<Range> {
  const range = await rangeFrom(db, input)
  const issues = rangeIssues(range)
  if (issues.length > 0) throw refusal(issues)
  return range
}

/**
 * Determines the time range and its buckets, by default of an hour.
 * @throws RepriseError VALIDATION_FAILED
 */
async function spanOf(db: Queryable, input: SpanInput & { bucketSeconds?: number | null }): Promise<Span> {
  const span = { ...(await rangeFrom(db, input)), bucketSeconds: input.bucketSeconds ?? 3_600 }
  const issues = [...rangeIssues(span), ...bucketIssues(span)]
  if (issues.length > 0) throw refusal(issues)
  return span
}

function bucketsIn({ from, to, bucketSeconds }: Span): number {
  return Math.ceil((to.getTime() - from.getTime()) / (bucketSeconds * 1_000))
}

async function rangeFrom(db: Queryable, { from, to: given }: SpanInput): Promise<Range> {
  const to = given ?? (await readNow(db))
  return { from: from ?? new Date(to.getTime() - STATISTICS_RANGE_DEFAULT_SECONDS * 1_000), to }
}

function rangeIssues(range: Range): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  const seconds = secondsOf(range)
  // The day before a storable time may not be storable.
  if (!isStorableMoment(range.from)) issues.push({ path: 'from', message: STORABLE_MOMENT })
  if (seconds <= 0) issues.push({ path: 'to', message: '`to` must be later than `from`.' })
  if (seconds > STATISTICS_RANGE_MAX_SECONDS) {
    const message = `From \`from\` to \`to\` are at most ${STATISTICS_RANGE_MAX_SECONDS / 86_400} days.`
    issues.push({ path: 'from', message })
  }
  return issues
}

function bucketIssues(span: Span): ValidationIssue[] {
  const { bucketSeconds } = span
  const seconds = secondsOf(span)
  if (bucketSeconds < 1) return [{ path: 'bucketSeconds', message: '`bucketSeconds` must be at least 1.' }]
  const buckets = bucketsIn(span)
  if (seconds > STATISTICS_RANGE_MAX_SECONDS || buckets <= STATISTICS_BUCKETS_MAX) return []
  const least = Math.ceil(seconds / STATISTICS_BUCKETS_MAX)
  const message = `That makes ${buckets} buckets, and the limit is ${STATISTICS_BUCKETS_MAX}: \`bucketSeconds\` must be at least ${least}.`
  return [{ path: 'bucketSeconds', message }]
}

/** Converts the error of a count that was cancelled because it took too long. */
function explainTimeout(error: unknown): never {
  if ((error as { code?: string }).code !== QUERY_CANCELED) throw error
  const message = `That took longer than ${STATISTICS_TIMEOUT_MS / 1_000} s: ask for a shorter span.`
  throw refusal([{ path: 'from', message }])
}

function refusal(issues: readonly ValidationIssue[]): RepriseError {
  return new RepriseError('VALIDATION_FAILED', issues.map(({ message }) => message).join(' '), issues)
}

/** @throws RepriseError VALIDATION_FAILED */
function countedOf({ projectId }: ServiceContext['viewer'], input: CountedInput): CountedSessions {
  const { project, name, label, resourceGroup, user, sessionType } = input
  refuseUnstorable({ name, label, resourceGroup, user }, 'input')
  return {
    project: project ?? null,
    visibleProjectId: projectId,
    ...withoutNulls({ name, label, resourceGroup, user, sessionTypes: sessionType }),
  }
}

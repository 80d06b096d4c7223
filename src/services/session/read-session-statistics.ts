import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import {
  STATISTICS_BUCKETS_MAX,
  STATISTICS_RANGE_DEFAULT_SECONDS,
  STATISTICS_RANGE_MAX_SECONDS,
  STATISTICS_TIMEOUT_MS,
} from '../../domain/limits.ts'
import {
  countsByStatus,
  figuresByBucket,
  figuresByCause,
  figuresOf,
  type BucketFigures,
  type CauseFigures,
  type SessionFigures,
} from '../../domain/session/statistics.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-moment.ts'
import { STATUSES, type SessionStatus } from '../../domain/session/statuses.ts'
import { countSessions, type CountedSpan, type PendingRetries } from '../../store/sql/session/count-sessions.sql.ts'
import { refuseUnstorable } from '../input/storable-input.ts'
import { withoutNulls } from '../input/without-nulls.ts'
import type { ServiceContext } from '../service-context.ts'

export type { CauseFigures, PendingRetries, SessionFigures }

export interface StatisticsInput {
  project?: string | null
  /** Exactly this name. */
  name?: string | null
  label?: { key: string; value: string } | null
  /** By name. */
  resourceGroup?: string | null
  /** By name. */
  user?: string | null
  from?: Date | null
  to?: Date | null
  bucketSeconds?: number | null
}

export interface SessionStatistics {
  from: Date
  to: Date
  bucketSeconds: number
  byStatus: { status: SessionStatus; count: number }[]
  byCause: CauseFigures[]
  total: SessionFigures & PendingRetries
  buckets: (BucketFigures & { from: Date; to: Date })[]
}

/**
 * Outcomes of the sessions that ended within a period, by default the last day.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readSessionStatistics(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  input: StatisticsInput,
): Promise<SessionStatistics> {
  const span = spanOf(input)
  const { from, to, bucketSeconds } = span
  const { name, label, resourceGroup, user } = input
  refuseUnstorable({ name, label, resourceGroup, user }, 'input')
  const counted = {
    ...span,
    project: input.project ?? null,
    visibleProjectId: viewer.projectId,
    ...withoutNulls({ name, label, resourceGroup, user }),
  }
  const { over, active, pending } = await countSessions(db, counted, STATISTICS_TIMEOUT_MS).catch(explainTimeout)
  const counts = [...active, ...countsByStatus(over)]
  const bucketMs = bucketSeconds * 1_000
  const figures = figuresByBucket(over, bucketsIn(span))
  return {
    ...span,
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

type Span = Pick<CountedSpan, 'from' | 'to' | 'bucketSeconds'>

function spanOf(input: StatisticsInput): Span {
  const to = input.to ?? new Date()
  const from = input.from ?? new Date(to.getTime() - STATISTICS_RANGE_DEFAULT_SECONDS * 1_000)
  const span = { from, to, bucketSeconds: input.bucketSeconds ?? 3_600 }
  const issues = spanIssues(span)
  if (issues.length > 0) throw refusal(issues)
  return span
}

function spanIssues(span: Span): ValidationIssue[] {
  const { from, to, bucketSeconds } = span
  const issues: ValidationIssue[] = []
  const seconds = (to.getTime() - from.getTime()) / 1_000
  // A day before a representable time may not be representable.
  if (!isStorableMoment(from)) issues.push({ path: 'from', message: STORABLE_MOMENT })
  if (seconds <= 0) issues.push({ path: 'to', message: '`to` must be later than `from`.' })
  const tooLong = seconds > STATISTICS_RANGE_MAX_SECONDS
  if (tooLong) {
    const message = `From \`from\` to \`to\` are at most ${STATISTICS_RANGE_MAX_SECONDS / 86_400} days.`
    issues.push({ path: 'from', message })
  }
  const buckets = bucketsIn(span)
  if (bucketSeconds < 1) issues.push({ path: 'bucketSeconds', message: '`bucketSeconds` must be at least 1.' })
  else if (!tooLong && buckets > STATISTICS_BUCKETS_MAX) {
    const least = Math.ceil(seconds / STATISTICS_BUCKETS_MAX)
    const message = `That makes ${buckets} buckets; the most is ${STATISTICS_BUCKETS_MAX}: \`bucketSeconds\` must be at least ${least}.`
    issues.push({ path: 'bucketSeconds', message })
  }
  return issues
}

function bucketsIn({ from, to, bucketSeconds }: Span): number {
  return Math.ceil((to.getTime() - from.getTime()) / (bucketSeconds * 1_000))
}

const QUERY_CANCELED = '57014'

function explainTimeout(error: unknown): never {
  if ((error as { code?: string }).code !== QUERY_CANCELED) throw error
  const message = `That took longer than ${STATISTICS_TIMEOUT_MS / 1_000} s: ask for a shorter span.`
  throw refusal([{ path: 'from', message }])
}

function refusal(issues: readonly ValidationIssue[]): RepriseError {
  return new RepriseError('VALIDATION_FAILED', issues.map(({ message }) => message).join(' '), issues)
}

import { RepriseError } from '../domain/errors.ts'
import {
  STATISTICS_BUCKETS_MAX,
  STATISTICS_RANGE_DEFAULT_SECONDS,
  STATISTICS_RANGE_MAX_SECONDS,
  STATISTICS_TIMEOUT_MS,
} from '../domain/limits.ts'
import {
  countsByStatus,
  figuresByBucket,
  figuresByCause,
  figuresOf,
  type CauseFigures,
  type SessionFigures,
} from '../domain/session/statistics.ts'
import { STATUSES, type SessionStatus } from '../domain/session/statuses.ts'
import { countSessions, type CountedSpan } from '../store/sql/count-sessions.sql.ts'
import type { ServiceContext } from './service-context.ts'

export type { CauseFigures, SessionFigures }

export interface StatisticsInput {
  project?: string | null
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
  total: SessionFigures
  buckets: (SessionFigures & { from: Date; to: Date })[]
}

/**
 * What became of the sessions that were over within a span of time, the last day where none is given.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readSessionStatistics(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  input: StatisticsInput,
): Promise<SessionStatistics> {
  const span = spanOf(input)
  const { from, to, bucketSeconds } = span
  const counted = { ...span, project: input.project ?? null, visibleProjectId: viewer.projectId }
  const { over, active } = await countSessions(db, counted, STATISTICS_TIMEOUT_MS).catch(explainTimeout)
  const counts = [...active, ...countsByStatus(over)]
  const bucketMs = bucketSeconds * 1_000
  const figures = figuresByBucket(over, bucketsIn(span))
  return {
    ...span,
    byStatus: STATUSES.flatMap((status) => counts.filter((count) => count.status === status)),
    byCause: figuresByCause(over),
    total: figuresOf(over),
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
  const seconds = (to.getTime() - from.getTime()) / 1_000
  if (seconds <= 0) throw invalid('to', '`to` must be later than `from`.')
  if (seconds > STATISTICS_RANGE_MAX_SECONDS) {
    throw invalid('from', `From \`from\` to \`to\` are at most ${STATISTICS_RANGE_MAX_SECONDS / 86_400} days.`)
  }
  const bucketSeconds = input.bucketSeconds ?? 3_600
  if (bucketSeconds < 1) throw invalid('bucketSeconds', '`bucketSeconds` must be at least 1.')
  const span = { from, to, bucketSeconds }
  const buckets = bucketsIn(span)
  if (buckets <= STATISTICS_BUCKETS_MAX) return span
  const least = Math.ceil(seconds / STATISTICS_BUCKETS_MAX)
  const message = `That makes ${buckets} buckets; at most ${STATISTICS_BUCKETS_MAX} are told: \`bucketSeconds\` must be at least ${least}.`
  throw invalid('bucketSeconds', message)
}

function bucketsIn({ from, to, bucketSeconds }: Span): number {
  return Math.ceil((to.getTime() - from.getTime()) / (bucketSeconds * 1_000))
}

const QUERY_CANCELED = '57014'

function explainTimeout(error: unknown): never {
  if ((error as { code?: string }).code !== QUERY_CANCELED) throw error
  throw invalid('from', `That took longer than ${STATISTICS_TIMEOUT_MS / 1_000} s: ask for a shorter span.`)
}

function invalid(path: string, message: string): RepriseError {
  return new RepriseError('VALIDATION_FAILED', message, [{ path, message }])
}

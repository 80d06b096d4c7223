import { STATISTICS_TIMEOUT_MS } from '../../domain/limits.ts'
import {
  countsByStatus,
  figuresByBucket,
  figuresByCause,
  figuresOf,
  type BucketFigures,
  type CauseFigures,
  type SessionFigures,
} from '../../domain/session/statistics.ts'
import { STATUSES, type SessionStatus } from '../../domain/session/statuses.ts'
import {
  countSessions,
  type CountedSessions,
  type CountedSpan,
  type PendingRetries,
} from '../../store/sql/session/count-sessions.sql.ts'
import { readOutcomeUsage as readOutcomes, type OutcomeUsage } from '../../store/sql/session/read-usage.sql.ts'
import { refuseUnstorable } from '../input/storable-input.ts'
import { withoutNulls } from '../input/without-nulls.ts'
import type { ServiceContext } from '../service-context.ts'
import { bucketsIn, explainTimeout, spanOf, type SpanInput } from './statistics-span.ts'

export type { CauseFigures, OutcomeUsage, PendingRetries, SessionFigures }

/** Of which sessions. */
export interface CountedInput extends SpanInput {
  project?: string | null
  /** Exactly this name. */
  name?: string | null
  label?: { key: string; value: string } | null
  /** By name. */
  resourceGroup?: string | null
  /** By name. */
  user?: string | null
}

export interface StatisticsInput extends CountedInput {
  bucketSeconds?: number | null
}

export interface SessionStatistics {
  /** Of which sessions they are. */
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
 * Outcomes of the sessions that ended within a period, by default the last day.
 * @throws RepriseError VALIDATION_FAILED
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

/** What they used, by their result. @throws RepriseError VALIDATION_FAILED */
export function readOutcomeUsage(
  { db }: Pick<ServiceContext, 'db'>,
  { counted }: Pick<SessionStatistics, 'counted'>,
): Promise<OutcomeUsage[]> {
  return readOutcomes(db, counted, STATISTICS_TIMEOUT_MS).catch(explainTimeout)
}

/** @throws RepriseError VALIDATION_FAILED */
export function countedOf({ projectId }: ServiceContext['viewer'], input: CountedInput): CountedSessions {
  const { project, name, label, resourceGroup, user } = input
  refuseUnstorable({ name, label, resourceGroup, user }, 'input')
  return {
    project: project ?? null,
    visibleProjectId: projectId,
    ...withoutNulls({ name, label, resourceGroup, user }),
  }
}

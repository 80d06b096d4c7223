import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import {
  STATISTICS_BUCKETS_MAX,
  STATISTICS_RANGE_DEFAULT_SECONDS,
  STATISTICS_RANGE_MAX_SECONDS,
  STATISTICS_TIMEOUT_MS,
} from '../../domain/limits.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-moment.ts'
import type { Queryable } from '../../store/database.ts'
import { readNow } from '../../store/sql/read-now.sql.ts'
import type { CountedSpan } from '../../store/sql/session/count-sessions.sql.ts'

export interface SpanInput {
  from?: Date | null
  to?: Date | null
}

export type Range = Pick<CountedSpan, 'from' | 'to'>
export type Span = Range & Pick<CountedSpan, 'bucketSeconds'>

/**
 * Which span of time statistics are over: by default the last day.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function rangeOf(db: Queryable, input: SpanInput): Promise<Range> {
  const range = await rangeFrom(db, input)
  const issues = rangeIssues(range)
  if (issues.length > 0) throw refusal(issues)
  return range
}

/**
 * The same in buckets, by default of an hour.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function spanOf(db: Queryable, input: SpanInput & { bucketSeconds?: number | null }): Promise<Span> {
  const span = { ...(await rangeFrom(db, input)), bucketSeconds: input.bucketSeconds ?? 3_600 }
  const issues = [...rangeIssues(span), ...bucketIssues(span)]
  if (issues.length > 0) throw refusal(issues)
  return span
}

export function bucketsIn({ from, to, bucketSeconds }: Span): number {
  return Math.ceil((to.getTime() - from.getTime()) / (bucketSeconds * 1_000))
}

async function rangeFrom(db: Queryable, { from, to: given }: SpanInput): Promise<Range> {
  const to = given ?? (await readNow(db))
  return { from: from ?? new Date(to.getTime() - STATISTICS_RANGE_DEFAULT_SECONDS * 1_000), to }
}

const secondsOf = ({ from, to }: Range) => (to.getTime() - from.getTime()) / 1_000

function rangeIssues(range: Range): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  const seconds = secondsOf(range)
  // A day before a representable time may not be representable.
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
  const message = `That makes ${buckets} buckets; the most is ${STATISTICS_BUCKETS_MAX}: \`bucketSeconds\` must be at least ${least}.`
  return [{ path: 'bucketSeconds', message }]
}

const QUERY_CANCELED = '57014'

/** For a count that was cancelled since it took too long. */
export function explainTimeout(error: unknown): never {
  if ((error as { code?: string }).code !== QUERY_CANCELED) throw error
  const message = `That took longer than ${STATISTICS_TIMEOUT_MS / 1_000} s: ask for a shorter span.`
  throw refusal([{ path: 'from', message }])
}

function refusal(issues: readonly ValidationIssue[]): RepriseError {
  return new RepriseError('VALIDATION_FAILED', issues.map(({ message }) => message).join(' '), issues)
}

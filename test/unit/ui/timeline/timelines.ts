import fc from 'fast-check'
import type { FoundCheckpoint, Segment, SegmentKind } from '../../../../src/ui/timeline/bars.ts'

export const START = Date.UTC(2026, 10, 23, 12, 4, 5)

export interface AttemptOf {
  /** The length of each in milliseconds. */
  queued?: number
  preparing?: number
  running?: number
  ending?: number
  /** The part after it. */
  backoff?: number
  held?: number
  resubmission?: number
  cause?: string | null
  exitCode?: number | null
  checkpoint?: FoundCheckpoint
}

/** Segments in the server's form: without empty ones, but at least one for each attempt. */
export function segmentsOf(
  attempts: readonly AttemptOf[],
  { open = false, due }: { open?: boolean; due?: number } = {},
): { segments: Segment[]; end: number } {
  const segments: Segment[] = []
  let at = START
  let epoch = 0
  for (const [index, attempt] of attempts.entries()) {
    const { cause = 'KERNEL_NONZERO_EXIT', exitCode = cause === 'KERNEL_NONZERO_EXIT' ? 3 : null } = attempt
    const session = {
      sessionId: `s${index + 1}`,
      status: cause === null ? 'TERMINATED' : 'ERROR',
      result: cause === null ? 'SUCCESS' : 'FAILURE',
      exitCode,
      checkpoint: attempt.checkpoint ?? { state: 'NONE' as const, fromAttempt: null, bytes: null, note: null },
    }
    const lengths: [SegmentKind, number | undefined][] = [
      ['QUEUED', attempt.queued],
      ['PREPARING', attempt.preparing],
      ['RUNNING', attempt.running],
      ['ENDING', attempt.ending],
      ['BACKOFF', attempt.backoff],
      ['HELD', attempt.held],
      ['RESUBMISSION_GAP', attempt.resubmission],
    ]
    const shown = lengths.filter(([, length = 0]) => length > 0)
    const own = shown.some(([kind]) => ['QUEUED', 'PREPARING', 'RUNNING', 'ENDING'].includes(kind))
    for (const [kind, length = 0] of own ? shown : [['QUEUED', 0] as const, ...shown]) {
      const holdReason = kind === 'HELD' ? 'DISABLED' : null
      segments.push({
        kind,
        attempt: index + 1,
        epoch,
        cause,
        holdReason,
        reason: null,
        session,
        from: at,
        to: at + length,
      })
      at += length
    }
    if ((attempt.resubmission ?? 0) > 0) epoch++
  }
  const last = segments.at(-1)
  if (open && last !== undefined) last.to = null
  if (due !== undefined)
    segments.push({
      kind: 'PLANNED',
      attempt: attempts.length + 1,
      epoch,
      cause: null,
      holdReason: null,
      reason: 'retry',
      session: null,
      from: at + due,
      to: null,
    })
  return { segments, end: at }
}

const length = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 60_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 30 * 86_400_000 }) },
  { weight: 1, arbitrary: fc.constant(0) },
)
const cause = fc.constantFrom(null, 'KERNEL_NONZERO_EXIT', 'OOM_KILLED', 'AGENT_TRANSIENT', 'USER_CANCELLED', 'UNKNOWN')
const attempt: fc.Arbitrary<AttemptOf> = fc.record({
  queued: length,
  preparing: length,
  running: length,
  ending: length,
  backoff: length,
  held: length,
  resubmission: length,
  cause,
})

/** Chains of up to `max` attempts, ended or not. */
export function anySegments(max: number): fc.Arbitrary<{ segments: Segment[]; now: number }> {
  return fc
    .tuple(
      fc.array(attempt, { minLength: 0, maxLength: max, size: 'max' }),
      fc.boolean(),
      fc.option(length, { nil: undefined }),
      fc.integer({ min: 0, max: 100_000 }),
    )
    .map(([attempts, open, due, later]) => {
      const { segments, end } = segmentsOf(attempts, { open, due: attempts.length === 0 ? undefined : due })
      return { segments, now: end + later }
    })
}

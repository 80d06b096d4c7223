import { holdReasonText } from '../retry/retry-state.ts'
import type { FailureCause, HoldReason, RetryPhase } from '../session/failure.ts'
import { isTerminal, type SessionOrigin, type SessionStatus, type SessionType } from '../session/lifecycle.ts'

export const CHAIN_SEGMENT_KINDS = [
  'QUEUED',
  'PREPARING',
  'RUNNING',
  'ENDING',
  'BACKOFF',
  'HELD',
  'RESUBMISSION_GAP',
  'PLANNED',
] as const
export type ChainSegmentKind = (typeof CHAIN_SEGMENT_KINDS)[number]

/** The records of one attempt of a chain, and of the time between its end and the next attempt. */
export interface RecordedAttempt {
  sessionId: string
  sessionType: SessionType
  status: SessionStatus
  attempt: number
  epoch: number
  createdAt: Date
  startedAt: Date | null
  terminatedAt: Date | null
  statusReason: string | null
  pendingReason: string | null
  cause: FailureCause | null
  /** When the attempt before ended; null for the first one. */
  parentTerminatedAt: Date | null
  /** The attempt's status changes, oldest first. */
  moves: readonly { to: SessionStatus; at: Date }[]
  /** The spans in which the retry was held, oldest first. The last one may be open. */
  waits: readonly {
    reason: HoldReason
    scope: string | null
    /** A `HoldingSwitch`; null if no switch held it. */
    heldBy: unknown
    from: Date
    to: Date | null
  }[]
  /** Null until a decision is made. */
  decision: { phase: RetryPhase; explanation: string; dueAt: Date | null; abandonedAt: Date | null } | null
  /** The next attempt; null if there is none. */
  next: { createdAt: Date; origin: SessionOrigin } | null
}

export interface ChainSegment {
  kind: ChainSegmentKind
  from: Date
  /** Null for an open segment and for a planned one. */
  to: Date | null
  attempt: number
  epoch: number
  /** Null for a planned segment. */
  sessionId: string | null
  /** Why the attempt failed. */
  cause: FailureCause | null
  holdReason: HoldReason | null
  reason: string | null
  /**
   * The position within the attempt: segments are ordered by attempt, then by this. An ended segment keeps its place.
   */
  place: number
}

/** Planned segments come before everything else of the next attempt. */
const PLANNED_PLACE = 0

/**
 * Derives the segments of one attempt: its own, and those between its end and the next attempt. The segments of all
 * attempts cover the chain's life from its creation to its end, or to now, without gap or overlap; the last one is open
 * (`to` is null) while the chain goes on. Planned segments come after that. Segments of zero length are omitted, but
 * each attempt has at least one segment.
 *
 * Transactions may commit in another order than they began, so recorded times can be out of order: a time that lies
 * before its predecessor counts as equal to it.
 */
export function segmentsOf(attempt: RecordedAttempt, now: Date): ChainSegment[] {
  const own = ownSegments(attempt)
  const after = segmentsAfter(attempt, own.at(-1)!.to)
  const all = [...own, ...after].map((each, index) => ({ ...each, place: index + 1 }))
  const last = own.length
  const hasOwn = all.slice(0, last).some(hasLength)
  const shown = all.filter((each) => hasLength(each) || (!hasOwn && each.place === last))
  return [...shown, ...planned(attempt, now)]
}

type Unplaced = Omit<ChainSegment, 'place'>

function hasLength({ from, to }: Unplaced): boolean {
  return to === null || to > from
}

const KIND_OF: Readonly<Record<SessionStatus, ChainSegmentKind | null>> = {
  PENDING: 'QUEUED',
  SCHEDULED: 'PREPARING',
  PREPARING: 'PREPARING',
  PULLING: 'PREPARING',
  PREPARED: 'PREPARING',
  CREATING: 'PREPARING',
  RUNNING: 'RUNNING',
  TERMINATING: 'ENDING',
  TERMINATED: null,
  ERROR: null,
  CANCELLED: null,
}

function ownSegments(attempt: RecordedAttempt): Unplaced[] {
  const { createdAt, terminatedAt, parentTerminatedAt } = attempt
  const from = latest(createdAt, parentTerminatedAt ?? createdAt)
  const begins: Begin[] = [{ kind: 'QUEUED', at: from }]
  for (const { kind, at } of beginsOf(attempt)) {
    const { kind: before, at: last } = begins.at(-1)!
    if (kind !== before)
      begins.push({ kind, at: latest(last, terminatedAt === null ? at : earliest(at, terminatedAt)) })
  }
  const end = ownEnd(attempt, from)
  return begins.map(({ kind, at }, index) => {
    const isLast = index === begins.length - 1
    const to = isLast ? end : begins[index + 1]!.at
    return { ...segment(attempt, kind, at, to), reason: isLast ? reasonOf(attempt, kind, to) : null }
  })
}

interface Begin {
  kind: ChainSegmentKind
  at: Date
}

function beginsOf({ moves, startedAt }: RecordedAttempt): Begin[] {
  const begins = moves.flatMap(({ to, at }): Begin[] => {
    const kind = KIND_OF[to]
    // The program may have started before the scheduler noticed.
    return kind === null ? [] : [{ kind, at: kind === 'RUNNING' ? (startedAt ?? at) : at }]
  })
  if (startedAt === null || begins.some(({ kind }) => kind === 'RUNNING')) return begins
  const before = begins.filter(({ at }) => at <= startedAt)
  return [...before, { kind: 'RUNNING', at: startedAt }, ...begins.slice(before.length)]
}

/**
 * Null while the attempt goes on, or after its end while no decision is made: whether the chain goes on is then
 * unknown.
 */
function ownEnd(attempt: RecordedAttempt, from: Date): Date | null {
  const { status, sessionType, terminatedAt, decision, next } = attempt
  const isJudged = decision !== null || next !== null || sessionType !== 'BATCH'
  return isTerminal(status) && isJudged ? latest(from, terminatedAt!) : null
}

function reasonOf({ statusReason, pendingReason }: RecordedAttempt, kind: ChainSegmentKind, to: Date | null) {
  return kind === 'QUEUED' && to === null ? pendingReason : statusReason
}

/** Derives the backoff and the holds until the retry was dispatched or abandoned, then the wait for a resubmission. */
function segmentsAfter(attempt: RecordedAttempt, from: Date | null): Unplaced[] {
  if (from === null) return []
  const { decision, next } = attempt
  const goesOn = isPending(decision?.phase) && next === null
  const end = next === null ? latest(from, decision?.abandonedAt ?? from) : latest(from, next.createdAt)
  const retried = next?.origin === 'AUTO_RETRY'
  const waitsEnd = retried ? end : earliest(end, latest(from, decision?.abandonedAt ?? from))
  const segments = waitsOf(attempt, from, goesOn ? null : waitsEnd)
  if (next !== null && !retried) segments.push(segment(attempt, 'RESUBMISSION_GAP', waitsEnd, end))
  return segments
}

function waitsOf(attempt: RecordedAttempt, from: Date, end: Date | null): Unplaced[] {
  const within = (at: Date) => (end === null ? at : earliest(at, end))
  const segments: Unplaced[] = []
  let at = from
  for (const wait of attempt.waits) {
    const begin = within(latest(at, wait.from))
    const to = wait.to === null ? end : within(latest(begin, wait.to))
    segments.push(segment(attempt, 'BACKOFF', at, begin), {
      ...segment(attempt, 'HELD', begin, to),
      holdReason: wait.reason,
      reason: holdReasonText(wait),
    })
    if (to === null) return segments
    at = to
  }
  segments.push(segment(attempt, 'BACKOFF', at, end))
  return segments
}

/** A held retry is planned for now. */
function planned(attempt: RecordedAttempt, now: Date): ChainSegment[] {
  const { decision, next } = attempt
  if (!isPending(decision?.phase) || next !== null) return []
  const at = latest(decision!.dueAt ?? now, now)
  const itsOwn = { attempt: attempt.attempt + 1, sessionId: null, reason: decision!.explanation, place: PLANNED_PLACE }
  return [{ ...segment(attempt, 'PLANNED', at, null), ...itsOwn }]
}

function isPending(phase: RetryPhase | undefined): boolean {
  return phase === 'SCHEDULED' || phase === 'HELD'
}

function segment(attempt: RecordedAttempt, kind: ChainSegmentKind, from: Date, to: Date | null): Unplaced {
  const { attempt: number, epoch, sessionId, cause } = attempt
  return { kind, from, to, attempt: number, epoch, sessionId, cause, holdReason: null, reason: null }
}

function latest(a: Date, b: Date): Date {
  return a > b ? a : b
}

function earliest(a: Date, b: Date): Date {
  return a < b ? a : b
}

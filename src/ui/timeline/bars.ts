import { kindOf } from '../design/causes.ts'
import { limitInWords } from '../words/time.ts'

/** A segment of a chain's timeline as in the API, with its times in milliseconds since 1970. */
export interface Segment {
  kind: SegmentKind
  from: number
  /** Null while the segment goes on, and for PLANNED. */
  to: number | null
  attempt: number
  epoch: number
  /** Why the attempt failed. */
  cause: string | null
  holdReason: string | null
  reason: string | null
  /** Null for PLANNED. */
  session: SegmentSession | null
}

export type SegmentKind = PartKind | GapKind | 'PLANNED'
export type PartKind = 'QUEUED' | 'PREPARING' | 'RUNNING' | 'ENDING'
export type GapKind = 'BACKOFF' | 'HELD' | 'RESUBMISSION_GAP'

export interface SegmentSession {
  sessionId: string
  status: string
  result: string
  exitCode: number | null
  timedOut?: boolean
  /** In seconds. */
  batchTimeout?: number | null
  checkpoint: FoundCheckpoint
}

/** The checkpoint of earlier attempts that an attempt found. */
export interface FoundCheckpoint {
  state: 'NONE' | 'HERE' | 'FETCHED' | 'MISSING'
  fromAttempt: number | null
  bytes: number | null
  /** The reason why there is none. */
  note: string | null
}

const NO_CHECKPOINT: FoundCheckpoint = { state: 'NONE', fromAttempt: null, bytes: null, note: null }

export interface Part {
  kind: PartKind
  from: number
  to: number
}

/** The bar of an attempt. */
export interface Bar {
  type: 'bar'
  attempt: number
  epoch: number
  from: number
  to: number
  /** The attempt goes on; the bar ends now. */
  isOpen: boolean
  /** The parts from beginning to end, without gaps or overlaps. */
  parts: readonly Part[]
  outcome: Outcome
  /** The kind of the failure. */
  cause: string | null
  exitCode: number | null
  /** The batch timeout in words. */
  timeout: string | null
  session: SegmentSession
  /** The reason why it ended or waits. */
  reason: string | null
}

export type Outcome = 'LIVE' | 'SUCCEEDED' | 'FAILED' | 'TERMINATED'

/** Time between attempts. */
export interface Gap {
  type: 'gap'
  kind: GapKind
  /** The attempt before the gap. */
  attempt: number
  epoch: number
  from: number
  to: number
  isOpen: boolean
  holdReason: string | null
  reason: string | null
}

export type Item = Bar | Gap

/** The planned retry. */
export interface Ghost {
  attempt: number
  epoch: number
  /** The due time; now, if the retry is held. */
  at: number
  isHeld: boolean
  reason: string | null
}

/** A chain's timeline. Its items cover the time between `from` and `to` without gaps or overlaps. */
export interface Timeline {
  from: number
  /** The end of the chain; now, while it goes on. */
  to: number
  items: readonly Item[]
  ghost: Ghost | null
}

/**
 * Builds the timeline. `segments`: oldest first, up to the newest; earlier ones may be missing. A segment that does
 * not begin where the one before it ended is moved to begin there.
 */
export function timelineOf(segments: readonly Segment[], now: number): Timeline {
  const from = segments.find(({ kind }) => kind !== 'PLANNED')?.from ?? now
  const items: Item[] = []
  let end = from
  let ghost: Ghost | null = null
  for (const segment of segments) {
    if (segment.kind === 'PLANNED') {
      ghost = ghostOf(segment, items.at(-1), now)
      continue
    }
    const span = { from: end, to: Math.max(end, segment.to ?? now), isOpen: segment.to === null }
    end = span.to
    const last = items.at(-1)
    if (isGap(segment.kind)) items.push(gapOf(segment, segment.kind, span))
    else if (last?.type === 'bar' && last.attempt === segment.attempt)
      items[items.length - 1] = lengthened(last, segment, segment.kind, span)
    else items.push(barOf(segment, segment.kind, span))
  }
  return { from, to: end, items, ghost }
}

export function barsOf({ items }: Timeline): Bar[] {
  return items.filter((item) => item.type === 'bar')
}

/** The seconds in which no user code ran: the chain's `waitingSeconds`. */
export function waitingSeconds({ items }: Timeline): number {
  return items.reduce((sum, item) => sum + (item.to - item.from - (item.type === 'bar' ? ran(item) : 0)), 0) / 1000
}

/** The milliseconds between the start of an attempt's user code and its end. */
function ran({ parts, to }: Bar): number {
  const start = parts.find(({ kind }) => kind === 'RUNNING')
  return start === undefined ? 0 : to - start.from
}

interface Span {
  from: number
  to: number
  isOpen: boolean
}

function isGap(kind: PartKind | GapKind): kind is GapKind {
  return kind === 'BACKOFF' || kind === 'HELD' || kind === 'RESUBMISSION_GAP'
}

function gapOf({ attempt, epoch, holdReason, reason }: Segment, kind: GapKind, span: Span): Gap {
  return { type: 'gap', kind, attempt, epoch, ...span, holdReason, reason }
}

const NO_SESSION: SegmentSession = { sessionId: '', status: '', result: '', exitCode: null, checkpoint: NO_CHECKPOINT }

function barOf(segment: Segment, kind: PartKind, span: Span): Bar {
  const { attempt, epoch, cause, reason } = segment
  const session = segment.session ?? NO_SESSION
  const parts = [{ kind, from: span.from, to: span.to }]
  return {
    type: 'bar',
    attempt,
    epoch,
    ...span,
    parts,
    outcome: outcomeOf(session, cause),
    cause: cause === null ? null : kindOf({ failureCause: cause, ...session }),
    exitCode: session.exitCode,
    timeout: limitInWords(session.batchTimeout ?? null),
    session,
    reason,
  }
}

function lengthened(bar: Bar, { reason }: Segment, kind: PartKind, { from, to, isOpen }: Span): Bar {
  return { ...bar, to, isOpen, parts: [...bar.parts, { kind, from, to }], reason: reason ?? bar.reason }
}

const ENDED = ['TERMINATED', 'ERROR', 'CANCELLED']

function outcomeOf({ status, result }: SegmentSession, cause: string | null): Outcome {
  if (!ENDED.includes(status)) return 'LIVE'
  if (result === 'SUCCESS') return 'SUCCEEDED'
  return cause === 'USER_CANCELLED' || result !== 'FAILURE' ? 'TERMINATED' : 'FAILED'
}

function ghostOf({ attempt, epoch, from, reason }: Segment, last: Item | undefined, now: number): Ghost {
  const isHeld = last?.type === 'gap' && last.kind === 'HELD' && last.isOpen
  return { attempt, epoch, at: Math.max(from, now), isHeld, reason }
}

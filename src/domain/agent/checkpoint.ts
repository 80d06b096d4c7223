import { REPORTED_TEXT_LENGTH_MAX } from '../limits.ts'
import { toPlainLine } from '../storable-text.ts'

/**
 * Checkpoints: the files that the attempts of a chain leave for each other in `REPRISE_CHAIN_DIR`.
 *
 * The directory lies in a store, which belongs to one agent or to several agents that share a file system. The server
 * records the newest attempt that left something, and the store where it did. Each agent keeps a mark beside the
 * directory with the attempt that last used it. Content that is older than the server's record is never taken for the
 * newest: it is moved aside.
 */

/** The server's knowledge of a chain's checkpoint, sent when a kernel is prepared or started. */
export interface CheckpointOffer {
  /** Names the directory. Directories of lower generations are no longer needed. */
  generation: number
  /**
   * The newest checkpoint on record; null if there is none. `store` is null if the checkpoint was dropped; `relayed`
   * means that the servers have a copy.
   */
  newest: { attempt: number; store: string | null; relayed?: boolean } | null
}

export const FOUND_STATES = ['HERE', 'FETCHED', 'MISSING'] as const

/**
 * A kernel's starting point. HERE: the checkpoint was in the directory. FETCHED: it was copied there from elsewhere.
 * MISSING: a checkpoint exists or existed, but could not be obtained.
 */
export interface FoundCheckpoint {
  state: (typeof FOUND_STATES)[number]
  /** The attempt that left it; null if unknown. */
  attempt: number | null
  /** Why the servers' copy could not be fetched, for people; set with MISSING. */
  reason?: string
}

export interface LeftCheckpoint {
  /** The generation of the inspected directory. */
  generation: number
  /** Number of files, and their total bytes; null if there are more than the agent counts. */
  files: number | null
  bytes: number | null
  /** The latest modification time of these files, ISO 8601. */
  newestAt: string | null
}

/**
 * Reads an agent's report of the checkpoint that a kernel found. Invalid input gives null instead of an error, because
 * otherwise the kernel's start would not be recorded.
 */
export function readFoundCheckpoint(value: unknown): FoundCheckpoint | null {
  if (typeof value !== 'object' || value === null) return null
  const { state, attempt, reason } = value as Record<string, unknown>
  const known = FOUND_STATES.find((each) => each === state)
  const why = toPlainLine(reason, REPORTED_TEXT_LENGTH_MAX)
  return known === undefined
    ? null
    : { state: known, attempt: count(attempt, ATTEMPT_MAX), ...(why !== null && { reason: why }) }
}

/** Reads an agent's report of the checkpoint that a kernel left; invalid input gives null, as above. */
export function readLeftCheckpoint(value: unknown): LeftCheckpoint | null {
  if (typeof value !== 'object' || value === null) return null
  const { generation, files, bytes, newestAt } = value as Record<string, unknown>
  const known = count(generation, GENERATION_MAX)
  if (known === null) return null
  const at = typeof newestAt === 'string' && newestAt.length <= 64 ? new Date(newestAt) : null
  const inCalendar = at !== null && at.getTime() > 0 && at.getTime() < YEAR_10000
  return {
    generation: known,
    files: count(files, ATTEMPT_MAX),
    bytes: count(bytes, Number.MAX_SAFE_INTEGER),
    newestAt: inCalendar ? at.toISOString() : null,
  }
}

/** The largest value of an integer column. */
const ATTEMPT_MAX = 2_147_483_647
export const GENERATION_MAX = 2_147_483_647
const YEAR_10000 = Date.UTC(10_000, 0)

/** An agent's mark beside a directory: the attempt that last used it, and the checkpoint that this attempt found. */
export interface CheckpointMark {
  attempt: number
  found: FoundCheckpoint | null
}

export interface CheckpointPlace {
  attempt: number
  /** Whether this kernel's report of the directory at its end is recorded. */
  isFirstKernel: boolean
  /** Undefined if the server is older than this field. */
  offer: CheckpointOffer | null | undefined
  store: string
  mark: CheckpointMark | null
  isEmpty: boolean
}

export interface JudgedCheckpoint {
  found: FoundCheckpoint | null
  /** The content must be moved aside, because something newer is on record. */
  isStale: boolean
  /** This try of the attempt already uses the directory. */
  isTaken: boolean
}

/** Decides what a kernel finds in its chain's directory. */
export function judgeCheckpoint(place: CheckpointPlace): JudgedCheckpoint {
  const { attempt, isFirstKernel, offer, store, mark, isEmpty } = place
  const newest = offer?.newest ?? null
  // The session was sent back to PENDING during this attempt: it used the directory before, and the checkpoint that it
  // left there is recorded.
  const wasPutBack = newest?.attempt === attempt && mark?.found?.attempt !== attempt
  // Another kernel of the session, or this kernel before its agent restarted, has already judged the directory.
  if (mark?.attempt === attempt && !wasPutBack) return { found: mark.found, isStale: false, isTaken: true }
  const here = (from: number | null) => judged({ state: 'HERE', attempt: from })
  if (newest === null) return isEmpty ? judged(null) : here(mark?.attempt ?? null)
  const missing = judged({ state: 'MISSING', attempt: newest.attempt }, !isEmpty)
  if (isEmpty) return missing
  if (newest.store === store) {
    const has = mark?.attempt ?? newest.attempt
    return has >= newest.attempt ? here(has) : missing
  }
  // Either the last attempt's end is unknown, or the kernels of that attempt ran on several agents and each had its own
  // directory.
  if (mark === null || mark.attempt < newest.attempt) return missing
  return mark.attempt > newest.attempt || !isFirstKernel ? here(mark.attempt) : missing
}

function count(value: unknown, max: number): number | null {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max ? (value as number) : null
}

function judged(found: FoundCheckpoint | null, isStale = false): JudgedCheckpoint {
  return { found, isStale, isTaken: false }
}

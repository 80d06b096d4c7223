import { REPORTED_TEXT_LENGTH_MAX } from '../limits.ts'
import { toPlainLine } from '../storable-text.ts'

/**
 * What attempts of a chain leave for each other in `REPRISE_CHAIN_DIR`.
 *
 * The directory is in a store, which one agent has, or several that share a file system. The record of the server names
 * the newest attempt that left something, and the store where it did. Each agent notes beside a directory which attempt
 * last had it. What is older than the record is never taken for the newest: it is moved aside.
 */

/** What the server knows when a kernel is prepared or started. */
export interface CheckpointOffer {
  /** Names the directory. Those of lower generations are needed by nobody. */
  generation: number
  /**
   * The newest checkpoint on record; `store` is null if it has been dropped, `relayed` says that the servers have a copy
   * of it. Null: none.
   */
  newest: { attempt: number; store: string | null; relayed?: boolean } | null
}

export const FOUND_STATES = ['HERE', 'FETCHED', 'MISSING'] as const

/**
 * HERE: in the directory. FETCHED: brought there from elsewhere. MISSING: there is one, or was, and it could not be had.
 */
export interface FoundCheckpoint {
  state: (typeof FOUND_STATES)[number]
  /** The attempt that left it; null if nobody knows. */
  attempt: number | null
  /** Why the servers' copy of one that is missing could not be had; for people. */
  reason?: string
}

export interface LeftCheckpoint {
  /** Of the directory that was looked into. */
  generation: number
  /** Files, and bytes in them; null for more than the agent counts. */
  files: number | null
  bytes: number | null
  /** When one of them was last changed. ISO 8601. */
  newestAt: string | null
}

/** Never refused, or the start of a kernel would not be recorded; null if it tells nothing. */
export function readFoundCheckpoint(value: unknown): FoundCheckpoint | null {
  if (typeof value !== 'object' || value === null) return null
  const { state, attempt, reason } = value as Record<string, unknown>
  const known = FOUND_STATES.find((each) => each === state)
  const why = toPlainLine(reason, REPORTED_TEXT_LENGTH_MAX)
  return known === undefined
    ? null
    : { state: known, attempt: count(attempt, ATTEMPT_MAX), ...(why !== null && { reason: why }) }
}

/** The same for what was left. */
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

/** What fits an integer column. */
const ATTEMPT_MAX = 2_147_483_647
export const GENERATION_MAX = 2_147_483_647
const YEAR_10000 = Date.UTC(10_000, 0)

function count(value: unknown, max: number): number | null {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max ? (value as number) : null
}

/** What an agent has noted beside a directory: which attempt last had it, and what that one found. */
export interface CheckpointMark {
  attempt: number
  found: FoundCheckpoint | null
}

export interface CheckpointPlace {
  attempt: number
  /** Whether its look at the end goes on record. */
  isFirstKernel: boolean
  /** Undefined: the server is of an older version. */
  offer: CheckpointOffer | null | undefined
  store: string
  mark: CheckpointMark | null
  isEmpty: boolean
}

export interface JudgedCheckpoint {
  found: FoundCheckpoint | null
  /** What is there must be moved aside: something newer is on record. */
  isStale: boolean
  /** This try of the attempt has the directory already. */
  isTaken: boolean
}

/** What a kernel finds in the directory of its chain. */
export function judgeCheckpoint(place: CheckpointPlace): JudgedCheckpoint {
  const { attempt, isFirstKernel, offer, store, mark, isEmpty } = place
  const newest = offer?.newest ?? null
  // An attempt that was put back had the directory before, and what it left then is on record.
  const wasPutBack = newest?.attempt === attempt && mark?.found?.attempt !== attempt
  // Another kernel of the session, or this one before its agent was restarted, has seen to it.
  if (mark?.attempt === attempt && !wasPutBack) return { found: mark.found, isStale: false, isTaken: true }
  const here = (from: number | null) => judged({ state: 'HERE', attempt: from })
  if (newest === null) return isEmpty ? judged(null) : here(mark?.attempt ?? null)
  const missing = judged({ state: 'MISSING', attempt: newest.attempt }, !isEmpty)
  if (isEmpty) return missing
  if (newest.store === store) {
    const has = mark?.attempt ?? newest.attempt
    return has >= newest.attempt ? here(has) : missing
  }
  // Of an attempt whose end is not known; or of the same attempt, whose kernels on several agents each had their own.
  if (mark === null || mark.attempt < newest.attempt) return missing
  return mark.attempt > newest.attempt || !isFirstKernel ? here(mark.attempt) : missing
}

function judged(found: FoundCheckpoint | null, isStale = false): JudgedCheckpoint {
  return { found, isStale, isTaken: false }
}

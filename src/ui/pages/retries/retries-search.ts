import { oneOf, readSearch, text, type Reader } from '../../app/search-reader.ts'
import type { RetryDecisionFilter } from './retries.generated.ts'

/** What the address says about the queue of retries. */
export interface RetriesSearch {
  phase?: PhaseWord
  /** Why it is held. */
  reason?: ReasonWord
  cause?: CauseWord
  project?: string
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

const PHASES = { waiting: 'SCHEDULED', held: 'HELD' } as const
export type PhaseWord = keyof typeof PHASES

export const REASONS = {
  switch: 'DISABLED',
  rate: 'RATE_LIMITED',
  quota: 'QUOTA',
  alive: 'PARENT_ALIVE',
} as const
export type ReasonWord = keyof typeof REASONS

/** Those that are retried. */
const CAUSES = {
  exit: 'KERNEL_NONZERO_EXIT',
  oom: 'OOM_KILLED',
  agent: 'AGENT_TRANSIENT',
  image: 'IMAGE_PULL_FAILURE',
  scheduler: 'SCHEDULER_TIMEOUT',
  unknown: 'UNKNOWN',
} as const
export type CauseWord = keyof typeof CAUSES

const READERS: Readonly<Record<Exclude<keyof RetriesSearch, 'dropped'>, Reader>> = {
  phase: oneOf(PHASES),
  reason: oneOf(REASONS),
  cause: oneOf(CAUSES),
  project: text,
}

/** What is not understood is left out, and named. */
export function readRetriesSearch(given: Record<string, unknown>): RetriesSearch {
  return readSearch(READERS, given)
}

/** Of the rows, and of the counts of the tabs, each of which is of its phase whatever the chosen one. */
export function filtersOf({ phase, reason, cause, project }: RetriesSearch): {
  filter: RetryDecisionFilter
  waiting: RetryDecisionFilter
  held: RetryDecisionFilter
} {
  const common = { ...(cause && { cause: [CAUSES[cause]] }), ...(project && { project }) }
  const held = { ...common, phase: [PHASES.held], ...(reason && { holdReason: [REASONS[reason]] }) }
  const waiting = { ...common, phase: [PHASES.waiting] }
  const all = { ...common, phase: [PHASES.waiting, PHASES.held] }
  // What waits is held for no reason.
  const filter = phase === 'held' || (reason && phase === undefined) ? held : phase === 'waiting' ? waiting : all
  return { filter, waiting, held }
}

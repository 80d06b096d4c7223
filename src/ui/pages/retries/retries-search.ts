import { RETRIED_CAUSES } from '../../app/causes.ts'
import { oneOf, readSearch, text, type Reader } from '../../app/list/search-reader.ts'
import type { RetryDecisionFilter } from '../../../client/schema-types.generated.ts'

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

type CauseWord = keyof typeof RETRIED_CAUSES

const READERS: Readonly<Record<Exclude<keyof RetriesSearch, 'dropped'>, Reader>> = {
  phase: oneOf(PHASES),
  reason: oneOf(REASONS),
  cause: oneOf(RETRIED_CAUSES),
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
  const common = { ...(cause && { cause: [RETRIED_CAUSES[cause]] }), ...(project && { project }) }
  const held = { ...common, phase: [PHASES.held], ...(reason && { holdReason: [REASONS[reason]] }) }
  const waiting = { ...common, phase: [PHASES.waiting] }
  const all = { ...common, phase: [PHASES.waiting, PHASES.held] }
  // What waits is held for no reason.
  const filter = phase === 'held' || (reason && phase === undefined) ? held : phase === 'waiting' ? waiting : all
  return { filter, waiting, held }
}

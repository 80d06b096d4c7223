import { CAUSES, type CauseWord } from '../../app/causes.ts'
import { oneOf, readSearch, text } from '../../app/list/search-reader.ts'
import { RANGES, type RangeWord } from '../../app/list/time-range.ts'

/** What the address says about failures. */
export interface FailuresSearch {
  range?: RangeWord
  by?: GroupingWord
  cause?: CauseWord
  /** Bars of shares, not of numbers. */
  view?: 'share'
  project?: string
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

export const GROUPINGS = {
  cause: 'CAUSE',
  exit: 'EXIT_CODE',
  name: 'NAME',
  label: 'LABEL',
  agent: 'AGENT',
} as const
export type GroupingWord = keyof typeof GROUPINGS

/** What is not understood is left out, and named. */
export function readFailuresSearch(given: Record<string, unknown>): FailuresSearch {
  return readSearch(
    { range: oneOf(RANGES), by: oneOf(GROUPINGS), cause: oneOf(CAUSES), view: oneOf({ share: true }), project: text },
    given,
  )
}

import { oneOf, readSearch, text } from '../../app/list/search-reader.ts'
import { RANGES, type RangeWord } from '../../app/list/time-range.ts'

/** What the address says about the overview. */
export interface OverviewSearch {
  range?: RangeWord
  project?: string
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

/** What is not understood is left out, and named. */
export function readOverviewSearch(given: Record<string, unknown>): OverviewSearch {
  return readSearch({ range: oneOf(RANGES), project: text }, given)
}

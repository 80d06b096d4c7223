import type { ResubmissionItemStatus } from '../../../client/schema-types.generated.ts'
import { oneOf, readSearch, type Reader } from '../../app/list/search-reader.ts'

/** What the address says about one action on many. */
export interface ResubmissionSearch {
  /** Which of its chains are listed. */
  show?: ShowWord
  dropped?: string[]
}

export const SHOWN = {
  done: 'DONE',
  refused: 'REFUSED',
  left: 'PENDING',
} as const satisfies Record<string, ResubmissionItemStatus>
export type ShowWord = keyof typeof SHOWN

const READERS: Readonly<Record<'show', Reader>> = { show: oneOf(SHOWN) }

export function readResubmissionSearch(given: Record<string, unknown>): ResubmissionSearch {
  return readSearch(READERS, given)
}

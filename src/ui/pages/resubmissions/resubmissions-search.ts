import type { SessionAction } from '../../../client/schema-types.generated.ts'
import { oneOf, readSearch, text, type Reader } from '../../app/list/search-reader.ts'

/** What the address says about the list of actions on many. */
export interface ResubmissionsSearch {
  action?: ActionWord
  /** The place after which the page begins. */
  after?: string
  dropped?: string[]
}

export const ACTION_OF = {
  resubmit: 'RESUBMIT',
  'retry-now': 'RETRY_NOW',
  'cancel-retry': 'CANCEL_RETRY',
  terminate: 'TERMINATE',
} as const satisfies Record<string, SessionAction>
export type ActionWord = keyof typeof ACTION_OF

const READERS: Readonly<Record<Exclude<keyof ResubmissionsSearch, 'dropped'>, Reader>> = {
  action: oneOf(ACTION_OF),
  after: text,
}

export function readResubmissionsSearch(given: Record<string, unknown>): ResubmissionsSearch {
  return readSearch(READERS, given)
}

import { readSearch, text } from '../../app/list/search-reader.ts'

/** Where the new session belongs to. */
export interface NewSessionSearch {
  project?: string
  dropped?: string[]
}

export function readNewSessionSearch(given: Record<string, unknown>): NewSessionSearch {
  return readSearch({ project: text }, given)
}

import { PAGE_SIZE_DEFAULT } from '../../domain/limits.ts'
import { SEARCH_COST } from '../limits/limits.ts'
import type { PageArguments } from '../../services/paging/page-arguments.ts'

/** Complexity of a connection: multiplied by the rows that the page may have. Searching has a price of its own. */
export function pageComplexity({ first, last, filter }: PageArguments & { filter?: object | null }): {
  field: number
  multiplier: number
} {
  return { field: searches(filter) ? SEARCH_COST : 1, multiplier: first ?? last ?? PAGE_SIZE_DEFAULT }
}

const SEARCHING = [
  'search',
  'contains',
  'startsWith',
  'endsWith',
  'label',
  'resourceGroup',
  'user',
  'exitCode',
  'failureReason',
  'failed',
]

/** Whether a filter looks for parts of texts, or for what is not found by its place in an index. */
function searches(filter: unknown): boolean {
  if (typeof filter !== 'object' || filter === null) return false
  return Object.entries(filter).some(([key, value]) => (SEARCHING.includes(key) && value != null) || searches(value))
}

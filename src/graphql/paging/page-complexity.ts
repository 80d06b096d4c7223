import { PAGE_SIZE_DEFAULT } from '../../domain/limits.ts'
import { COUNT_COST } from '../limits.ts'
import type { PageArguments } from '../../services/paging/page-arguments.ts'

/** Complexity of a connection: multiplied by the rows that the page may have. Searching has a price of its own. */
export function pageComplexity({ first, last, filter }: PageArguments & { filter?: object | null }): {
  field: number
  multiplier: number
} {
  return { field: filter && 'search' in filter ? COUNT_COST : 1, multiplier: first ?? last ?? PAGE_SIZE_DEFAULT }
}

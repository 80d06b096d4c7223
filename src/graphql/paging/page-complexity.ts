import { PAGE_SIZE_DEFAULT } from '../../domain/limits.ts'
import type { PageArguments } from '../../services/paging/page-arguments.ts'

/** Complexity of a connection: multiplied by the rows that the page may have. */
export function pageComplexity({ first, last }: PageArguments): { field: number; multiplier: number } {
  return { field: 1, multiplier: first ?? last ?? PAGE_SIZE_DEFAULT }
}

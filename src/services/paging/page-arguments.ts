import type { RepriseError } from '../../domain/errors.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../domain/limits.ts'
import { argumentError } from '../input/parse-input.ts'

export interface PageArguments {
  first?: number | null
  after?: string | null
  last?: number | null
  before?: string | null
}

export interface PageSize {
  size: number
  /** Whether the page is read from the end, as `last` requests. */
  backward: boolean
}

/** @throws RepriseError that names the limit */
export function pageSize({ first, last, before }: PageArguments): PageSize {
  if (first != null && last != null) throw argumentError('last', 'Give `first` or `last`, not both.')
  const backward = last != null || (first == null && before != null)
  const name = backward ? 'last' : 'first'
  const size = (backward ? last : first) ?? PAGE_SIZE_DEFAULT
  if (size < 0) throw argumentError(name, `\`${name}\` is ${size}, but a page cannot have less than 0 items.`)
  if (size > PAGE_SIZE_MAX)
    throw argumentError(name, `\`${name}\` is ${size}, but a page has at most ${PAGE_SIZE_MAX} items.`)
  return { size, backward }
}

export function invalidCursor(name: 'after' | 'before'): RepriseError {
  return argumentError(name, `\`${name}\` is no cursor of this connection in this order.`)
}

import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import { argumentError } from './parse-input.ts'

/** All given conditions must match; null counts as missing. */
export interface TextFilterInput {
  equals?: string | null
  in?: string[] | null
  contains?: string | null
  startsWith?: string | null
  endsWith?: string | null
}

const PARTS = ['contains', 'startsWith', 'endsWith'] as const

/**
 * The filter as Prisma takes it. It puts parts of texts into patterns of LIKE as they are, where `%` and `_` would match
 * anything and a backslash at the end is an error of the database.
 * @throws RepriseError VALIDATION_FAILED for too many values
 */
export function textConditions<Filter extends TextFilterInput>(
  filter: Filter | null | undefined,
  path: string,
): Filter | null | undefined {
  if (!filter) return filter
  if ((filter.in?.length ?? 0) > FILTER_LIST_MAX) {
    throw argumentError(`${path}.in`, `At most ${FILTER_LIST_MAX} values.`)
  }
  const escaped = { ...filter }
  for (const part of PARTS) {
    const text = filter[part]
    if (text != null) escaped[part] = text.replaceAll(/[\\%_]/g, '\\$&')
  }
  return escaped
}

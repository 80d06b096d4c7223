import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import { type LabelCondition, labelWhere } from '../../store/sql/label-conditions.sql.ts'
import { argumentError } from './parse-input.ts'

export { labelWhere }
export type { LabelCondition }

/** A filter by one label; all given conditions must match. Without conditions, the label must exist. */
export interface LabelFilterInput {
  key: string
  /** False: the label must not exist. */
  exists?: boolean | null
  /** The label has this value. */
  equals?: string | null
  /** The label has one of these values. */
  in?: readonly string[] | null
}

/**
 * Converts filters by labels.
 * @throws RepriseError VALIDATION_FAILED for too many, and for conditions on the value of a label that must not exist
 */
export function labelConditions(
  filters: readonly LabelFilterInput[] | null | undefined,
  path = 'filter.labels',
): LabelCondition[] {
  const values = (filters ?? []).reduce((sum, { in: among }) => sum + Math.max(1, among?.length ?? 0), 0)
  if (values > FILTER_LIST_MAX) throw argumentError(path, `At most ${FILTER_LIST_MAX} labels and values together.`)
  return (filters ?? []).map(({ key, exists, equals, in: among }, index) => {
    const wanted = equals == null ? (among ?? null) : among ? among.filter((each) => each === equals) : [equals]
    if (exists === false && wanted !== null)
      throw argumentError(`${path}.${index}.exists`, 'A label that does not exist has no value to filter by.')
    return { key, present: exists !== false, values: wanted }
  })
}

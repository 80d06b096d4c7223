import { argumentError } from '../input/parse-input.ts'
import { FAILURE_GROUPS_MAX, STATISTICS_TIMEOUT_MS } from '../../domain/limits.ts'
import type { FailureCause } from '../../domain/session/causes.ts'
import { countFailures, type FailureGroup, type FailureGrouping } from '../../store/sql/session/count-failures.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { countedOf, type CountedInput } from './read-session-statistics.ts'
import { explainTimeout, rangeOf } from './statistics-span.ts'

export type { FailureGroup }

export interface FailureGroupsInput extends CountedInput {
  by: FailureGrouping
  causes?: readonly FailureCause[] | null
  first?: number | null
}

const GROUPS_DEFAULT = 20

/**
 * What failed within a period, by default the last day, counted together by what it has in common.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readFailureGroups(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  input: FailureGroupsInput,
): Promise<FailureGroup[]> {
  const { by, causes, first } = input
  const limit = first ?? GROUPS_DEFAULT
  if (limit < 1 || limit > FAILURE_GROUPS_MAX) throw argumentError('first', `From 1 to ${FAILURE_GROUPS_MAX}.`)
  const failures = {
    ...(await rangeOf(db, input)),
    ...countedOf(viewer, input),
    by,
    limit,
    ...(causes && { causes: [...new Set(causes)] }),
  }
  return countFailures(db, failures, STATISTICS_TIMEOUT_MS).catch(explainTimeout)
}

import { FILTER_LIST_MAX, SEARCH_LENGTH_MAX } from '../../../domain/limits.ts'
import type { ChainConditions } from '../../../services/chain/read-chains.ts'
import { withoutNulls } from '../../../services/input/without-nulls.ts'
import { builder } from '../../builder.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import { DateTimeFilter, IntRange, StringFilter } from '../filters.inputs.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { LabelInput } from '../session/pairs.inputs.ts'
import { ChainStateEnum } from './chain.enums.ts'

export const ChainFilter = builder.inputType('ChainFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    state: t.field({ type: [ChainStateEnum], description: 'In one of these states.' }),
    cause: t.field({ type: [FailureCauseEnum], description: 'Whose latest failure had one of these causes.' }),
    attempts: t.field({ type: IntRange, description: 'By how many attempts there are.' }),
    project: t.string({ description: 'In the project of this name.' }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    label: t.field({ type: LabelInput, description: 'With this label.' }),
    search: t.string({
      description:
        'Beginnings of words in the name and the labels; all must occur, in any order. Case is ignored. A word is a run of letters and digits.',
    }),
    createdAt: t.field({ type: DateTimeFilter, description: 'By when the first attempt was created.' }),
    activityAt: t.field({ type: DateTimeFilter, description: 'By `newestActivityAt`.' }),
  }),
})

/** @throws RepriseError if the filter is too large */
export function chainConditions(filter: typeof ChainFilter.$inferInput): ChainConditions {
  const { state, cause, attempts, name, createdAt, activityAt, search, project, label } = filter
  if ((name?.in?.length ?? 0) > FILTER_LIST_MAX)
    throw argumentError('filter.name.in', `At most ${FILTER_LIST_MAX} values.`)
  if (search != null && search.length > SEARCH_LENGTH_MAX) {
    throw argumentError('filter.search', `At most ${SEARCH_LENGTH_MAX} characters.`)
  }
  return {
    ...withoutNulls({
      causes: cause && [...new Set(cause)],
      states: state && [...new Set(state)],
      search,
      project,
      label,
    }),
    ...(attempts && { attempts: withoutNulls(attempts) }),
    ...(name && { name: withoutNulls(name) }),
    ...(createdAt && { createdAt: withoutNulls(createdAt) }),
    ...(activityAt && { activityAt: withoutNulls(activityAt) }),
  }
}

import { FILTER_LIST_MAX, SEARCH_LENGTH_MAX } from '../../../domain/limits.ts'
import type { ChainConditions, WantedOrder } from '../../../services/chain.ts'
import { labelConditions } from '../../../services/input/label-filter.ts'
import { argumentError, withoutNulls } from '../../../services/input/parse-input.ts'
import { builder } from '../../builder.ts'
import { DateTimeFilter, IntRange, LabelFilter, OrderDirection, StringFilter } from '../filters.inputs.ts'
import { FailureCauseEnum, HoldReasonEnum } from '../retry/retry.enums.ts'
import { SessionTypeEnum } from '../session/session.types.ts'
import { LabelInput } from '../session/values.types.ts'
import { ChainOrderFieldEnum, ChainStateEnum } from './chain.types.ts'

const FailureFilter = builder.inputType('FailureFilter', {
  description: 'An attempt that failed. All given conditions must match the same attempt.',
  fields: (t) => ({
    at: t.field({ type: DateTimeFilter, description: 'Filter by the time at which it ended.' }),
    cause: t.field({ type: [FailureCauseEnum], description: 'With one of these causes.' }),
    exitCode: t.intList({ description: 'With one of these exit codes.' }),
    timedOut: t.boolean({ description: 'Whether it was ended by its batch timeout.' }),
    agent: t.field({ type: 'UUID', description: 'With a kernel on the agent with this id.' }),
  }),
})

export const ChainFilter = builder.inputType('ChainFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    ids: t.field({ type: ['UUID'], description: `With one of these \`chainId\`s, at most ${FILTER_LIST_MAX}.` }),
    state: t.field({ type: [ChainStateEnum], description: 'In one of these states.' }),
    sessionType: t.field({
      type: [SessionTypeEnum],
      description: 'Of one of these types. `[BATCH, INTERACTIVE]` leaves out the replicas of deployments.',
    }),
    cause: t.field({ type: [FailureCauseEnum], description: 'Latest failure has one of these causes.' }),
    attempts: t.field({ type: IntRange, description: 'Filter by the number of attempts.' }),
    project: t.string({ description: 'In the project of this name.' }),
    group: t.field({ type: 'UUID', description: 'Members of the group with this id.' }),
    name: t.field({ type: StringFilter, description: 'Filter by name.' }),
    label: t.field({ type: LabelInput, description: 'With this label. `labels` takes several, and other conditions.' }),
    labels: t.field({ type: [LabelFilter], description: 'Filter by labels. All must match.' }),
    search: t.string({
      description:
        'Beginnings of words in the name and the labels. All must occur, in any order. Case is ignored. A word is a sequence of letters and digits.',
    }),
    resourceGroup: t.string({ description: 'Newest attempt is in the resource group of this name.' }),
    user: t.string({ description: 'Newest attempt belongs to the user of this name.' }),
    exitCode: t.intList({ description: 'Newest attempt ended with one of these exit codes.' }),
    timedOut: t.boolean({ description: 'Whether the newest attempt was ended by its batch timeout.' }),
    holdReason: t.field({ type: [HoldReasonEnum], description: 'Retry is held for one of these reasons.' }),
    agent: t.field({ type: 'UUID', description: 'With a kernel that is or was on the agent with this id.' }),
    failed: t.field({
      type: FailureFilter,
      description: 'With any attempt that failed as described, also if later attempts followed.',
    }),
    dueAt: t.field({ type: DateTimeFilter, description: 'Filter by the due time of its scheduled or held retry.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'Filter by the creation time of the first attempt.' }),
    activityAt: t.field({ type: DateTimeFilter, description: 'Filter by `newestActivityAt`.' }),
  }),
})

/** @throws RepriseError if the filter is too large */
export function chainConditions(filter: typeof ChainFilter.$inferInput, argument = 'filter'): ChainConditions {
  const { ids, state, cause, attempts, name, createdAt, activityAt, dueAt, search, exitCode, holdReason } = filter
  const { project, label, resourceGroup, user, agent, failed, timedOut, sessionType } = filter
  for (const [path, values] of [
    ['ids', ids],
    ['name.in', name?.in],
    ['exitCode', exitCode],
    ['failed.exitCode', failed?.exitCode],
  ] as const) {
    if ((values?.length ?? 0) > FILTER_LIST_MAX) {
      throw argumentError(`${argument}.${path}`, `At most ${FILTER_LIST_MAX} values.`)
    }
  }
  if (search != null && search.length > SEARCH_LENGTH_MAX) {
    throw argumentError(`${argument}.search`, `At most ${SEARCH_LENGTH_MAX} characters.`)
  }
  return {
    ...withoutNulls({
      chainIds: ids,
      causes: cause && [...new Set(cause)],
      states: state && [...new Set(state)],
      sessionTypes: sessionType && [...new Set(sessionType)],
      exitCodes: exitCode,
      timedOut,
      holdReasons: holdReason && [...new Set(holdReason)],
      agentId: agent,
      groupId: filter.group,
      search,
      project,
      label,
      resourceGroup,
      user,
    }),
    ...(attempts && { attempts: withoutNulls(attempts) }),
    ...(filter.labels?.length && { labels: labelConditions(filter.labels, `${argument}.labels`) }),
    ...(name && { name: withoutNulls(name) }),
    ...(createdAt && { createdAt: withoutNulls(createdAt) }),
    ...(activityAt && { activityAt: withoutNulls(activityAt) }),
    ...(dueAt && { dueAt: withoutNulls(dueAt) }),
    ...(failed && { failed: failureCondition(failed) }),
  }
}

function failureCondition({ at, cause, exitCode, timedOut, agent }: typeof FailureFilter.$inferInput) {
  return {
    ...withoutNulls({ causes: cause && [...new Set(cause)], exitCodes: exitCode, timedOut, agentId: agent }),
    ...(at && { at: withoutNulls(at) }),
  }
}

export const ChainOrderInput = builder.inputType('ChainOrder', {
  description: 'Order of chains.',
  fields: (t) => ({
    field: t.field({ type: ChainOrderFieldEnum, required: true, description: 'Field to order by.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Direction.' }),
  }),
})

export function wantedOrder(orderBy: typeof ChainOrderInput.$inferInput | null | undefined): WantedOrder {
  if (!orderBy) return { order: 'ACTIVITY', direction: 'desc' }
  return { order: orderBy.field, direction: orderBy.direction === 'DESC' ? 'desc' : 'asc' }
}

import type { RetryPhase } from '../../../domain/retry/causes.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { builder } from '../../builder.ts'
import { FILTER_DEPTH_MAX, FILTER_LIST_MAX, FILTER_TERMS_MAX } from '../../limits.ts'
import { invalid } from '../../paging/page-arguments.ts'
import { DateTimeFilter, given, StringFilter } from '../filters.inputs.ts'
import { FailureCauseEnum, RetryPhaseEnum } from '../retry/retry.enums.ts'
import { LabelInput } from './pairs.inputs.ts'
import { SessionOriginEnum, SessionResultEnum, SessionStatusEnum, SessionTypeEnum } from './session.enums.ts'

const ref = builder.inputRef<SessionFilterShape>('SessionFilter')

interface SessionFilterShape {
  status?: (typeof SessionStatusEnum.$inferInput)[] | null
  result?: (typeof SessionResultEnum.$inferInput)[] | null
  sessionType?: (typeof SessionTypeEnum.$inferInput)[] | null
  origin?: (typeof SessionOriginEnum.$inferInput)[] | null
  failureCause?: (typeof FailureCauseEnum.$inferInput)[] | null
  retryPhase?: RetryPhase[] | null
  project?: string | null
  chainId?: string | null
  name?: typeof StringFilter.$inferInput | null
  label?: typeof LabelInput.$inferInput | null
  createdAt?: typeof DateTimeFilter.$inferInput | null
  AND?: SessionFilterShape[] | null
  OR?: SessionFilterShape[] | null
  NOT?: SessionFilterShape | null
}

export const SessionFilter = ref.implement({
  description: 'All that are given must match.',
  fields: (t) => ({
    status: t.field({ type: [SessionStatusEnum], description: 'In one of these statuses.' }),
    result: t.field({ type: [SessionResultEnum], description: 'With one of these results.' }),
    sessionType: t.field({ type: [SessionTypeEnum], description: 'Of one of these types.' }),
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    failureCause: t.field({ type: [FailureCauseEnum], description: 'Failed for one of these causes.' }),
    retryPhase: t.field({ type: [RetryPhaseEnum], description: 'With `retryState.phase` in one of these.' }),
    origin: t.field({ type: [SessionOriginEnum], description: 'Of one of these origins.' }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    label: t.field({ type: LabelInput, description: 'With this label.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'By when it was created.' }),
    AND: t.field({ type: [ref], description: 'All of these match.' }),
    OR: t.field({ type: [ref], description: 'At least one of these matches.' }),
    NOT: t.field({ type: ref, description: 'This does not match.' }),
  }),
})

/** @throws RepriseError where it is larger than anybody needs. */
export function sessionWhere(filter: SessionFilterShape | null | undefined): Prisma.SessionWhereInput {
  const budget = { terms: FILTER_TERMS_MAX }
  return filter ? where(filter, budget, 1) : {}
}

function where(filter: SessionFilterShape, budget: { terms: number }, depth: number): Prisma.SessionWhereInput {
  if (depth > FILTER_DEPTH_MAX) throw invalid('filter', `Filters nest at most ${FILTER_DEPTH_MAX} deep.`)
  if (budget.terms-- === 0) throw invalid('filter', `A filter has at most ${FILTER_TERMS_MAX} filters within.`)
  const { status, result, sessionType, origin, failureCause, retryPhase, project, chainId, label } = filter
  const inner = (filters: SessionFilterShape[]) => filters.map((each) => where(each, budget, depth + 1))
  const all = [
    ...(retryPhase ? [phaseIn(retryPhase)] : []),
    ...inner(filter.AND ?? []),
    ...(filter.OR ? [anyOf(inner(filter.OR))] : []),
    ...(filter.NOT ? [not(where(filter.NOT, budget, depth + 1))] : []),
  ].filter((each) => !isEmpty(each))
  return {
    ...oneOf('status', status),
    ...oneOf('result', result),
    ...oneOf('sessionType', sessionType),
    ...oneOf('origin', origin),
    ...oneOf('failureCause', failureCause),
    ...(project != null && { project: { name: project } }),
    ...(chainId != null && { chainId }),
    ...(filter.name && { name: given(filter.name) }),
    ...(label && { labels: { path: [label.key], equals: label.value } }),
    ...(filter.createdAt && { createdAt: given(filter.createdAt) }),
    ...(all.length > 0 && { AND: all }),
  }
}

/** Said so that Prisma, which drops an empty OR inside an AND, does not overlook it. */
const NOTHING: Prisma.SessionWhereInput = { id: { in: [] } }

/** An empty filter matches everything. Prisma would leave it out of an OR, and so let it match nothing. */
function anyOf(wheres: Prisma.SessionWhereInput[]): Prisma.SessionWhereInput {
  if (wheres.length === 0) return NOTHING
  return wheres.some(isEmpty) ? {} : { OR: wheres }
}

function not(inner: Prisma.SessionWhereInput): Prisma.SessionWhereInput {
  return isEmpty(inner) ? NOTHING : { NOT: inner }
}

function isEmpty(inner: Prisma.SessionWhereInput): boolean {
  return Object.keys(inner).length === 0
}

function oneOf<K extends string, T>(field: K, values: readonly T[] | null | undefined): { [key in K]?: { in: T[] } } {
  if (!values) return {}
  if (values.length > FILTER_LIST_MAX) throw invalid(`filter.${field}`, `At most ${FILTER_LIST_MAX} values.`)
  return { [field]: { in: [...values] } } as never
}

/** As `retryState` derives it: sessions without a decision are UNDECIDED where they may be retried, else NONE. */
function phaseIn(phases: readonly RetryPhase[]): Prisma.SessionWhereInput {
  const mayBeRetried: Prisma.SessionWhereInput = { sessionType: 'BATCH', maxRetries: { gt: 0 } }
  return {
    OR: [
      { decision: { is: { phase: { in: [...phases] } } } },
      ...(phases.includes('UNDECIDED') ? [{ decision: { is: null }, ...mayBeRetried }] : []),
      ...(phases.includes('NONE') ? [{ decision: { is: null }, NOT: mayBeRetried }] : []),
    ],
  }
}

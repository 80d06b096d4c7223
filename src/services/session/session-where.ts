import { FILTER_DEPTH_MAX, FILTER_LIST_MAX, FILTER_TERMS_MAX } from '../../domain/limits.ts'
import { type FailureCause, type RetryPhase, USER_CANCELLED } from '../../domain/session/failure.ts'
import type { SessionOrigin, SessionResult, SessionStatus, SessionType } from '../../domain/session/lifecycle.ts'
import type { SessionWhere } from '../../store/prisma.ts'
import { idsBeginningWith, textConditions, type TextFilterInput } from '../input/input-fields.ts'
import { argumentError, refuseUnstorable, withoutNulls } from '../input/parse-input.ts'

/** A filter of sessions. All given conditions must match; null counts as missing. */
export interface SessionFilterInput {
  status?: SessionStatus[] | null
  result?: SessionResult[] | null
  sessionType?: SessionType[] | null
  origin?: SessionOrigin[] | null
  failureCause?: FailureCause[] | null
  /** Names of failures, such as `task-timeout`. */
  failureReason?: string[] | null
  /** Whether its batch timeout ended it. */
  timedOut?: boolean | null
  exitCode?: number[] | null
  statusReason?: TextFilterInput | null
  retryPhase?: RetryPhase[] | null
  project?: string | null
  /** The name of its user. */
  user?: string | null
  /** The beginning of the id, at least 8 hexadecimal digits. */
  idPrefix?: string | null
  chainId?: string | null
  parentSessionId?: string | null
  /** The id of an agent on which one of its kernels is, or was. */
  agent?: string | null
  /** The name of a resource group. */
  resourceGroup?: string | null
  concurrencyKey?: string | null
  /** The chain that it waits, or waited, for. */
  dependsOn?: string | null
  retryCount?: RangeFilterInput | null
  maxRetries?: RangeFilterInput | null
  name?: TextFilterInput | null
  label?: { key: string; value: string } | null
  createdAt?: TimeFilterInput | null
  AND?: SessionFilterInput[] | null
  OR?: SessionFilterInput[] | null
  NOT?: SessionFilterInput | null
}

export interface TimeFilterInput {
  gt?: Date | null
  gte?: Date | null
  lt?: Date | null
  lte?: Date | null
}

/** A range that includes both ends. */
export interface RangeFilterInput {
  min?: number | null
  max?: number | null
}

/**
 * Converts a filter for Prisma. @throws RepriseError if the filter is too large, or has a text that cannot be stored
 */
export function sessionWhere(filter: SessionFilterInput | null | undefined): SessionWhere {
  refuseUnstorable(filter, 'filter')
  const budget = { terms: FILTER_TERMS_MAX }
  return filter ? where(filter, budget, 1) : {}
}

/** A filter that matches nothing. It is written this way because Prisma drops an empty OR inside an AND. */
const NOTHING: SessionWhere = { id: { in: [] } }

/** Whether the filter matches everything. */
export function isEmptyWhere(inner: SessionWhere): boolean {
  return Object.keys(inner).length === 0
}

function where(filter: SessionFilterInput, budget: { terms: number }, depth: number): SessionWhere {
  if (depth > FILTER_DEPTH_MAX) throw argumentError('filter', `Filters nest at most ${FILTER_DEPTH_MAX} deep.`)
  if (budget.terms-- === 0) throw argumentError('filter', `A filter has at most ${FILTER_TERMS_MAX} filters within.`)
  const { status, result, sessionType, origin, failureCause, retryPhase, project, chainId, label } = filter
  const { parentSessionId, agent, resourceGroup, dependsOn, retryCount, maxRetries } = filter
  const inner = (filters: SessionFilterInput[]) => filters.map((each) => where(each, budget, depth + 1))
  const all = [
    ...(retryPhase ? [phaseIn(retryPhase)] : []),
    ...(filter.failureReason ? [reasonIn(filter.failureReason)] : []),
    ...inner(filter.AND ?? []),
    ...(filter.OR ? [anyOf(inner(filter.OR))] : []),
    ...(filter.NOT ? [not(where(filter.NOT, budget, depth + 1))] : []),
  ].filter((each) => !isEmptyWhere(each))
  const own = {
    ...oneOf('status', status),
    ...oneOf('result', result),
    ...oneOf('sessionType', sessionType),
    ...oneOf('origin', origin),
    ...oneOf('failureCause', failureCause),
    ...(filter.timedOut != null && { timedOut: filter.timedOut }),
    ...oneOf('exitCode', filter.exitCode),
    ...given('statusReason', textConditions(filter.statusReason, 'filter.statusReason')),
    ...(project != null && { project: { name: project } }),
    ...(filter.user != null && { user: { name: filter.user } }),
    ...(filter.idPrefix != null && { id: idsBeginningWith(filter.idPrefix, 'filter.idPrefix') }),
    ...(chainId != null && { chainId }),
    ...(parentSessionId != null && { parentSessionId }),
    ...(agent != null && { kernels: { some: { agentId: agent } } }),
    ...(resourceGroup != null && { resourceGroup }),
    ...(filter.concurrencyKey != null && { concurrencyKey: filter.concurrencyKey }),
    ...(dependsOn != null && { dependsOn: { some: { chainId: dependsOn } } }),
    ...within('retryCount', retryCount),
    ...within('maxRetries', maxRetries),
    ...given('name', textConditions(filter.name, 'filter.name')),
    ...(label && { labels: { path: [label.key], equals: label.value } }),
    ...given('createdAt', filter.createdAt),
  }
  if (isEmptyWhere(own) && all.length === 1) return all[0]!
  return all.length > 0 ? { ...own, AND: all } : own
}

/**
 * Combines filters with OR. An empty filter matches everything, but Prisma would drop it from the OR, so that it would
 * match nothing.
 */
function anyOf(wheres: SessionWhere[]): SessionWhere {
  if (wheres.length === 0) return NOTHING
  return wheres.some(isEmptyWhere) ? {} : { OR: wheres }
}

function not(inner: SessionWhere): SessionWhere {
  if (inner === NOTHING) return {}
  return isEmptyWhere(inner) ? NOTHING : { NOT: inner }
}

/**
 * The filter of a field without nulls, because Prisma would search for NULL. A filter without conditions is dropped.
 */
function given<K extends string>(name: K, filter: object | null | undefined): { [key in K]?: object } {
  const conditions = withoutNulls(filter ?? {})
  return Object.keys(conditions).length === 0 ? {} : ({ [name]: conditions } as never)
}

function within<K extends string>(name: K, range: RangeFilterInput | null | undefined): { [key in K]?: object } {
  return given(name, range && { gte: range.min, lte: range.max })
}

function oneOf<K extends string, T>(field: K, values: readonly T[] | null | undefined): { [key in K]?: { in: T[] } } {
  if (!values) return {}
  if (values.length > FILTER_LIST_MAX) throw argumentError(`filter.${field}`, `At most ${FILTER_LIST_MAX} values.`)
  return { [field]: { in: [...values] } } as never
}

/** Filters by reason, as `failureReason` derives it. */
function reasonIn(names: readonly string[]): SessionWhere {
  oneOf('failureReason', names)
  if (names.length === 0) return NOTHING
  const byThemselves = names.map((name) => ({ statusData: { path: ['error', 'name'], equals: name } }))
  return {
    failureCause: { not: null },
    OR: [
      { terminatedBy: null, OR: byThemselves },
      ...(names.includes(USER_CANCELLED) ? [{ terminatedBy: { not: null } }] : []),
    ],
  }
}

/**
 * Filters by phase, as `retryState` derives it: sessions without a decision are UNDECIDED if they may be retried, else
 * NONE.
 */
function phaseIn(phases: readonly RetryPhase[]): SessionWhere {
  const mayBeRetried: SessionWhere = { sessionType: 'BATCH', maxRetries: { gt: 0 } }
  return {
    OR: [
      { decision: { is: { phase: { in: [...phases] } } } },
      ...(phases.includes('UNDECIDED') ? [{ decision: { is: null }, ...mayBeRetried }] : []),
      ...(phases.includes('NONE') ? [{ decision: { is: null }, NOT: mayBeRetried }] : []),
    ],
  }
}

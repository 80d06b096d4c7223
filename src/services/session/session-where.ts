import { FILTER_DEPTH_MAX, FILTER_LIST_MAX, FILTER_TERMS_MAX } from '../../domain/limits.ts'
import { type FailureCause, type HoldReason, type RetryPhase, USER_CANCELLED } from '../../domain/session/failure.ts'
import {
  LIVE_STATUSES,
  type SessionOrigin,
  type SessionResult,
  type SessionStatus,
  type SessionType,
  TERMINAL_STATUSES,
} from '../../domain/session/lifecycle.ts'
import type { SessionWhere } from '../../store/prisma.ts'
import { idsBeginningWith, textConditions, type TextFilterInput } from '../input/input-fields.ts'
import { labelConditions, type LabelFilterInput, labelWhere } from '../input/label-filter.ts'
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
  /** Why its retry is held now. */
  holdReason?: HoldReason[] | null
  project?: string | null
  /** The name of its user. */
  user?: string | null
  /** The beginning of the id, at least 8 hexadecimal digits. */
  idPrefix?: string | null
  chainId?: string | null
  /** The id of a group of sessions. */
  group?: string | null
  /** The id of a group of failures, with those that are merged into it. */
  failureGroup?: string | null
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
  attempt?: RangeFilterInput | null
  epoch?: RangeFilterInput | null
  name?: TextFilterInput | null
  label?: { key: string; value: string } | null
  labels?: readonly LabelFilterInput[] | null
  createdAt?: TimeFilterInput | null
  startedAt?: TimeFilterInput | null
  terminatedAt?: TimeFilterInput | null
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

/** A range of numbers. `min` and `max` are old names of `gte` and `lte`. */
export interface RangeFilterInput {
  gt?: number | null
  gte?: number | null
  lt?: number | null
  lte?: number | null
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
    ...(filter.holdReason ? [heldFor(filter.holdReason)] : []),
    ...(filter.failureReason ? [reasonIn(filter.failureReason)] : []),
    ...(label ? labelWhere([{ key: label.key, present: true, values: [label.value] }]) : []),
    ...labelWhere(labelConditions(filter.labels)),
    ...startedWithin(withoutNulls(filter.startedAt ?? {})),
    ...endedWithin(withoutNulls(filter.terminatedAt ?? {})),
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
    ...(filter.group != null && { groupId: filter.group }),
    ...(filter.failureGroup != null && { failure: { group: failuresOf(filter.failureGroup) } }),
    ...(parentSessionId != null && { parentSessionId }),
    ...(agent != null && { kernels: { some: { agentId: agent } } }),
    ...(resourceGroup != null && { resourceGroup }),
    ...(filter.concurrencyKey != null && { concurrencyKey: filter.concurrencyKey }),
    ...(dependsOn != null && { dependsOn: { some: { chainId: dependsOn } } }),
    ...within('retryCount', retryCount),
    ...within('maxRetries', maxRetries),
    ...within('attempt', filter.attempt),
    ...within('epoch', filter.epoch),
    ...given('name', textConditions(filter.name, 'filter.name')),
    ...given('createdAt', filter.createdAt),
  }
  if (isEmptyWhere(own) && all.length === 1) return all[0]!
  return all.length > 0 ? { ...own, AND: all } : own
}

function failuresOf(groupId: string) {
  return { OR: [{ id: groupId }, { mergedInto: groupId }] }
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
  if (!range) return {}
  const { min, max, ...bounds } = withoutNulls(range)
  return given(name, { gte: min, lte: max, ...bounds })
}

type Bounds = { [Key in keyof TimeFilterInput]?: Date }

/** The conditions on the creation that follow from these on a later time; they bound scans in the order of creation. */
function createdBefore({ lt, lte }: Bounds): SessionWhere[] {
  return lt || lte ? [{ createdAt: { ...(lt && { lt }), ...(lte && { lte }) } }] : []
}

/**
 * Filters by the start. It has no index, but what started at some time was created before and has not ended before;
 * sessions_active and sessions_over find that.
 */
function startedWithin(bounds: Bounds): SessionWhere[] {
  if (Object.keys(bounds).length === 0) return []
  const { gt, gte } = bounds
  const endedSince = gt || gte ? [notEndedBefore({ ...(gt && { gt }), ...(gte && { gte }) })] : []
  return [{ startedAt: { not: null, ...bounds } }, ...createdBefore(bounds), ...endedSince]
}

function notEndedBefore(bounds: Bounds): SessionWhere {
  return { OR: [{ status: { in: [...LIVE_STATUSES] } }, ended(bounds)] }
}

/** Filters by the end. Index: sessions_over. */
function endedWithin(bounds: Bounds): SessionWhere[] {
  return Object.keys(bounds).length === 0 ? [] : [ended(bounds), ...createdBefore(bounds)]
}

function ended(bounds: Bounds): SessionWhere {
  return { status: { in: [...TERMINAL_STATUSES] }, terminatedAt: { not: null, ...bounds } }
}

function oneOf<K extends string, T>(field: K, values: readonly T[] | null | undefined): { [key in K]?: { in: T[] } } {
  if (!values) return {}
  if (values.length > FILTER_LIST_MAX) throw argumentError(`filter.${field}`, `At most ${FILTER_LIST_MAX} values.`)
  return { [field]: { in: [...values] } } as never
}

/** Filters by the reason of a hold. Index: retry_decisions_held. */
function heldFor(reasons: readonly HoldReason[]): SessionWhere {
  return { decision: { is: { phase: 'HELD', ...oneOf('holdReason', reasons) } } }
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

import type { FilteredChainState } from '../../../domain/chain/outlook.ts'
import type { FailureCause, HoldReason } from '../../../domain/session/failure.ts'
import type { LabelCondition } from '../label-conditions.sql.ts'
import type { SessionType } from '../../../domain/session/lifecycle.ts'
import type { PendingDemands } from '../scheduling/read-pending.sql.ts'

export interface TextCondition {
  equals?: string
  in?: readonly string[]
  contains?: string
  startsWith?: string
  endsWith?: string
}

export interface TimeCondition {
  gt?: Date
  gte?: Date
  lt?: Date
  lte?: Date
}

/** `min` and `max` are old names of `gte` and `lte`. */
export interface RangeCondition {
  gt?: number
  gte?: number
  lt?: number
  lte?: number
  min?: number
  max?: number
}

/** Conditions on one failed attempt. */
export interface FailureCondition {
  at?: TimeCondition
  causes?: readonly FailureCause[]
  exitCodes?: readonly number[]
  timedOut?: boolean
  /** One of the attempt's kernels was last assigned to this agent. */
  agentId?: string
}

/** Conditions on chains; all given conditions must match. */
export interface ChainConditions {
  states?: readonly FilteredChainState[]
  /** Set if `states` tell QUEUED from IMPOSSIBLE. */
  pending?: PendingDemands
  sessionTypes?: readonly SessionType[]
  causes?: readonly FailureCause[]
  attempts?: RangeCondition
  /** The project's name. */
  project?: string
  name?: TextCondition
  label?: { key: string; value: string }
  labels?: readonly LabelCondition[]
  /** Prefixes of words in the name and the labels; all must occur, in any order. */
  search?: string
  chainIds?: readonly string[]
  /** Members of this group of sessions. */
  groupId?: string
  /** Conditions on the newest attempt: its resource group and its user, by name, its exit code, whether it timed out. */
  resourceGroup?: string
  user?: string
  exitCodes?: readonly number[]
  timedOut?: boolean
  /** The present hold reason of its retry. */
  holdReasons?: readonly HoldReason[]
  /** When the retry that it waits for is due. */
  dueAt?: TimeCondition
  /** Some attempt has, or had, a kernel on this agent. */
  agentId?: string
  /** Some attempt failed under these conditions. */
  failed?: FailureCondition
  createdAt?: TimeCondition
  activityAt?: TimeCondition
}

/** Collects the values of a statement that is built from parts: `$1`, `$2`, … in the order in which they are added. */
export function createParameters(): { values: unknown[]; add: (value: unknown, type: string) => string } {
  const values: unknown[] = []
  return { values, add: (value, type) => `$${values.push(value)}::${type}` }
}

/** Adds a value and returns its placeholder. */
export type Add = ReturnType<typeof createParameters>['add']

/** `IS TRUE` makes this a row-by-row filter: only `chains_with_words` uses the index of words. */
const WORDS = 'chain_words(c.project_id, c.name, c.labels)'

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

/**
 * Builds conditions on chains `c`, except project, state and whether they are replicas, which define the ranges; each
 * begins with AND.
 */
export function chainConditions(conditions: ChainConditions, add: Add): string {
  const { causes, attempts = {}, name = {}, label, search, createdAt = {}, activityAt = {} } = conditions
  const { chainIds, dueAt, agentId, failed } = conditions
  const all = [
    ...(causes ? [`c.cause = ANY(${add(causes, 'failure_cause[]')})`] : []),
    ...rangeConditions('c.attempts', attempts, add),
    ...nameConditions(name, add),
    ...(label ? [`c.labels @> ${pairOf(label, add)}`] : []),
    ...(conditions.labels ?? []).map((each) => labelCondition(each, add)),
    ...(search === undefined ? [] : [`(${WORDS} @@ beginnings_query(${add(search, 'text')})) IS TRUE`]),
    ...(conditions.groupId === undefined ? [] : [`c.group_id = ${add(conditions.groupId, 'uuid')}`]),
    ...(chainIds ? [`c.chain_id = ANY(${add(chainIds, 'uuid[]')})`] : []),
    ...newestAttemptConditions(conditions, add),
    ...(agentId === undefined ? [] : [onAgent(add(agentId, 'uuid'))]),
    ...(failed ? failureConditions(failed, add) : []),
    ...(dueAt ? ['c.due_at IS NOT NULL', ...timeConditions('c.due_at', dueAt, add)] : []),
    ...timeConditions('c.created_at', createdAt, add),
    ...timeConditions('c.newest_activity_at', activityAt, add),
    // A chain cannot be active before it was created: this bounds the scan in the order of activity.
    ...timeConditions('c.newest_activity_at', { gt: createdAt.gt, gte: createdAt.gte }, add),
  ]
  return all.map((condition) => ` AND ${condition}`).join('')
}

/**
 * Builds a tsquery of the words that every matching chain has (SQL NULL if the texts contain no words); null if no text
 * is given.
 */
export function wordsOf({ name = {}, label, labels, search }: ChainConditions, add: Add): string | null {
  const queries = [
    ...(name.equals === undefined ? [] : [`words_query(${add(name.equals, 'text')})`]),
    ...(name.startsWith === undefined ? [] : [`beginnings_query(${add(name.startsWith, 'text')})`]),
    ...(label ? [`words_query(${pairOf(label, add)}::text)`] : []),
    // The words of the keys only: any of several values may match.
    ...(labels ?? []).filter(({ present }) => present).map(({ key }) => `words_query(${add(key, 'text')})`),
    ...(search === undefined ? [] : [`beginnings_query(${add(search, 'text')})`]),
  ]
  return queries.length === 0 ? null : queries.reduce((both, each) => `coalesce(${both} && ${each}, ${both}, ${each})`)
}

/** Builds conditions on the newest attempt and its decision, which are looked up chain by chain. */
function newestAttemptConditions(conditions: ChainConditions, add: Add): string[] {
  const { resourceGroup, user, exitCodes, timedOut, holdReasons, sessionTypes } = conditions
  const ofAttempt = [
    ...(resourceGroup === undefined ? [] : [`t.resource_group = ${add(resourceGroup, 'text')}`]),
    ...(user === undefined ? [] : [`t.user_id = (SELECT u.id FROM users u WHERE u.name = ${add(user, 'text')})`]),
    ...(exitCodes ? [`t.exit_code = ANY(${add(exitCodes, 'int[]')})`] : []),
    ...(timedOut === undefined ? [] : [`t.timed_out = ${add(timedOut, 'boolean')}`]),
    ...(sessionTypes && sessionTypes.includes('BATCH') !== sessionTypes.includes('INTERACTIVE')
      ? [`t.session_type = ANY(${add(sessionTypes, 'session_type[]')})`]
      : []),
  ]
  return [
    ...(ofAttempt.length === 0
      ? []
      : [`EXISTS (SELECT FROM sessions t WHERE t.id = c.tail_id AND ${ofAttempt.join(' AND ')})`]),
    ...(holdReasons
      ? [
          `EXISTS (SELECT FROM retry_decisions r WHERE r.session_id = c.tail_id
      AND r.hold_reason = ANY(${add(holdReasons, 'hold_reason[]')}))`,
        ]
      : []),
  ]
}

function onAgent(agentId: string): string {
  return `EXISTS (SELECT FROM sessions a JOIN kernels k ON k.session_id = a.id
      WHERE a.chain_id = c.chain_id AND k.agent_id = ${agentId})`
}

/**
 * Builds the condition on a failed attempt. The attempts of a chain are looked up only if the chain existed, and had
 * not ended, in that time.
 */
function failureConditions(failed: FailureCondition, add: Add): string[] {
  const { at = {}, causes, exitCodes, timedOut, agentId } = failed
  const since = at.gte ?? at.gt
  const until = at.lte ?? at.lt
  const all = [
    "f.chain_id = c.chain_id AND f.result = 'FAILURE'",
    ...timeConditions('f.terminated_at', at, add),
    ...(causes ? [`f.failure_cause = ANY(${add(causes, 'failure_cause[]')})`] : []),
    ...(exitCodes ? [`f.exit_code = ANY(${add(exitCodes, 'int[]')})`] : []),
    ...(timedOut === undefined ? [] : [`f.timed_out = ${add(timedOut, 'boolean')}`]),
    ...(agentId === undefined
      ? []
      : [`EXISTS (SELECT FROM kernels k WHERE k.session_id = f.id AND k.agent_id = ${add(agentId, 'uuid')})`]),
  ]
  return [
    ...(since ? [`(c.ended_at IS NULL OR c.ended_at >= ${add(since.toISOString(), 'timestamptz')})`] : []),
    ...(until ? [`c.created_at <= ${add(until.toISOString(), 'timestamptz')}`] : []),
    `EXISTS (SELECT FROM sessions f WHERE ${all.join(' AND ')})`,
  ]
}

function nameConditions(name: TextCondition, add: Add): string[] {
  return [
    ...(name.equals === undefined ? [] : [`c.name = ${add(name.equals, 'text')}`]),
    ...(name.in ? [`c.name = ANY(${add(name.in, 'text[]')})`] : []),
    ...(name.contains === undefined ? [] : [`position(${add(name.contains, 'text')} IN c.name) > 0`]),
    ...(name.startsWith === undefined ? [] : [`starts_with(c.name, ${add(name.startsWith, 'text')})`]),
    ...(name.endsWith === undefined ? [] : [endsWith(add(name.endsWith, 'text'))]),
  ]
}

function endsWith(text: string): string {
  return `right(c.name, length(${text})) = ${text}`
}

function pairOf({ key, value }: { key: string; value: string }, add: Add): string {
  return `jsonb_build_object(${add(key, 'text')}, ${add(value, 'text')})`
}

function labelCondition({ key, present, values }: LabelCondition, add: Add): string {
  if (!present) return `NOT c.labels ? ${add(key, 'text')}`
  if (values === null) return `c.labels ? ${add(key, 'text')}`
  return `c.labels ->> ${add(key, 'text')} = ANY(${add(values, 'text[]')})`
}

function rangeConditions(column: string, { min, max, ...bounds }: RangeCondition, add: Add): string[] {
  const all: [string, number | undefined][] = [
    ['>=', min],
    ['<=', max],
    ...(Object.keys(OPERATORS) as (keyof typeof OPERATORS)[]).map((name): [string, number | undefined] => [
      OPERATORS[name],
      bounds[name],
    ]),
  ]
  return all.flatMap(([operator, end]) => (end === undefined ? [] : [`${column} ${operator} ${add(end, 'int')}`]))
}

function timeConditions(column: string, times: { [K in keyof TimeCondition]?: Date | undefined }, add: Add): string[] {
  return (Object.keys(OPERATORS) as (keyof typeof OPERATORS)[]).flatMap((name) => {
    const time = times[name]
    return time === undefined ? [] : [`${column} ${OPERATORS[name]} ${add(time.toISOString(), 'timestamptz')}`]
  })
}

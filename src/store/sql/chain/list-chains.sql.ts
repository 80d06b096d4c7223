import {
  FILTERED_CHAIN_STATES,
  STORED_CHAIN_STATES,
  type StoredChainState,
  storedStates,
} from '../../../domain/chain/outlook.ts'
import { type Add, chainConditions, type ChainConditions, createParameters, wordsOf } from './chain-conditions.sql.ts'
import { liveCandidates, liveCondition, type LiveSelection, splitsLive } from './live-chains.sql.ts'
import { keepsPlanIfUsual, type Queryable } from '../../database.ts'
import { CHAIN_COLUMNS, CHAIN_JOINS, type ChainRow } from './read-chains.sql.ts'

/** Conditions on chains, and the only project that may be shown; null for all projects. */
interface ChainSelection {
  conditions: ChainConditions
  visibleProjectId: string | null
}

/** At most this many matches of an index are looked up one by one. */
const LOOKED_UP_MAX = 5_000

const IN_RANGE = 'c.project_id = ranges.project_id AND c.state = ranges.state AND c.replica = ranges.replica'

/** The stored states that chains with these conditions may have. */
function possibleStates({ states = FILTERED_CHAIN_STATES, holdReasons, dueAt }: ChainConditions): StoredChainState[] {
  const wanted = new Set(storedStates(states).stored)
  if (dueAt) for (const state of STORED_CHAIN_STATES) if (!WAITING.has(state)) wanted.delete(state)
  if (holdReasons) for (const state of STORED_CHAIN_STATES) if (state !== 'HELD') wanted.delete(state)
  return [...wanted]
}

const WAITING: ReadonlySet<StoredChainState> = new Set(['WAITING_RETRY', 'HELD'])

/** Whether chains with these conditions may be replicas, and others. Replicas are never retried. */
function possibleReplicas({ sessionTypes, holdReasons, dueAt }: ChainConditions): boolean[] {
  return [false, true].filter((replica) => {
    if (replica && (dueAt || holdReasons)) return false
    return sessionTypes === undefined || sessionTypes.some((type) => (type === 'INFERENCE') === replica)
  })
}

function liveSelection({ states = FILTERED_CHAIN_STATES, pending }: ChainConditions): LiveSelection {
  return { live: storedStates(states).live, pending }
}

/**
 * Builds a range of chains for each project, state and kind (replicas or others); `columns` are expressions on `state`,
 * each after a comma.
 */
function rangeStatement({ conditions, visibleProjectId }: ChainSelection, add: Add, columns: string): string {
  // Constants, as limits are: a plan for any number of ranges and rows would read whole tables.
  const states = `'{${possibleStates(conditions).join()}}'::chain_state[]`
  const replicas = `'{${possibleReplicas(conditions).join()}}'::boolean[]`
  const visible = add(visibleProjectId, 'uuid')
  const named = conditions.project === undefined ? '' : ` AND p.name = ${add(conditions.project, 'text')}`
  return `SELECT p.id AS project_id, state, replica${columns}
  FROM projects p CROSS JOIN unnest(${states}) AS state CROSS JOIN unnest(${replicas}) AS replica
  WHERE (${visible} IS NULL OR p.id = ${visible})${named}`
}

/**
 * Two access paths to the same rows: one scans the ranges of an order, the other starts from the few chains that an
 * index finds.
 */
interface Ways {
  /** Definitions for WITH; one of them is `ranges`. */
  definitions: string[]
  /** The condition on a chain `c` of a range in `ranges`, for the scan. */
  walked: string
  /**
   * Combines both paths into one statement, of which only the needed parts are executed. `look` builds the second path
   * from the relation of the found chains, the relation of the ranges, and the condition on a chain `c`.
   */
  combine(walk: string, look: (found: string, ranges: string, condition: string) => string): string
}

/**
 * Chooses the access path. Given ids are looked up. For words, for an agent, for a group and for timeouts, an index is first asked
 * whether few chains match; if so, the ranges are not scanned. Frequent matches are soon found by scanning the ranges.
 * If only some of the chains in LIVE are wanted, an index of sessions is asked in the same way for that state alone.
 */
function waysTo(selection: ChainSelection, add: Add, { bounds = '', columns = '' } = {}): Ways {
  const { conditions } = selection
  const live = liveSelection(conditions)
  const ofLive = splitsLive(live) ? ` AND (c.state <> 'LIVE' OR ${liveCondition(live, add)})` : ''
  const wanted = (some: ChainConditions) => `${IN_RANGE}${bounds}${chainConditions(some, add)}${ofLive}`
  const every = rangeStatement(selection, add, columns)
  const { chainIds, agentId, ...others } = conditions
  if (chainIds) {
    const looked = wanted({ ...others, ...(agentId !== undefined && { agentId }) })
    return {
      definitions: [
        `found AS MATERIALIZED (SELECT DISTINCT unnest(${add(chainIds, 'uuid[]')}) AS chain_id)`,
        `ranges AS MATERIALIZED (${every})`,
      ],
      combine: (_walk, look) => look('found', 'ranges', looked),
      walked: '',
    }
  }
  const rare = rareMatches(selection, add)
  const splits = ofLive === '' ? null : liveCandidates(live, '(SELECT DISTINCT project_id FROM every)', PROBED_MAX, add)
  const walked = wanted(conditions)
  const looked = rare === null ? '' : wanted(rare.others)
  const ranges = splits === null ? [`ranges AS MATERIALIZED (${every})`] : rangesWithout(every, splits)
  return {
    definitions: [...(rare?.definitions ?? []), ...ranges],
    combine: (walk, look) => {
      const either = rare === null ? walk : eitherWay(walk, look('found', 'ranges', looked))
      return splits === null ? either : `${either} UNION ALL ${look('live_found', 'live_ranges AS ranges', walked)}`
    },
    walked,
  }
}

const PROBED_MAX = LOOKED_UP_MAX + 1

/** The definitions by which few matches are found, and the conditions that are then still open; null without an index. */
function rareMatches({ conditions, visibleProjectId }: ChainSelection, add: Add) {
  const words = wordsOf(conditions, add)
  const visible = () => add(visibleProjectId, 'uuid')
  if (words !== null) {
    const found = `SELECT chain_id FROM chains_with_words(${words}, ${visible()}, ${PROBED_MAX}) AS chain_id`
    const definitions = [
      `found AS MATERIALIZED (${found})`,
      `rarity AS MATERIALIZED (SELECT ${words} IS NOT NULL AND count(*) <= ${LOOKED_UP_MAX} AS rare FROM found)`,
    ]
    return { definitions, others: conditions }
  }
  const { agentId, ...others } = conditions
  if (agentId === undefined && conditions.groupId !== undefined) {
    const { groupId, ...rest } = conditions
    const members = `SELECT chain_id FROM chains WHERE group_id = ${add(groupId, 'uuid')} LIMIT ${PROBED_MAX}`
    const definitions = [
      `found AS MATERIALIZED (${members})`,
      `rarity AS MATERIALIZED (SELECT count(*) <= ${LOOKED_UP_MAX} AS rare FROM found)`,
    ]
    return { definitions, others: rest }
  }
  const probe =
    agentId !== undefined
      ? `SELECT session_id AS id FROM kernels WHERE agent_id = ${add(agentId, 'uuid')} LIMIT ${PROBED_MAX}`
      : conditions.timedOut === true || conditions.failed?.timedOut === true
        ? `SELECT id FROM sessions WHERE timed_out AND (${visible()} IS NULL OR project_id = ${visible()}) LIMIT ${PROBED_MAX}`
        : null
  if (probe === null) return null
  const definitions = [
    `probed AS MATERIALIZED (${probe})`,
    `found AS MATERIALIZED (SELECT DISTINCT s.chain_id FROM probed JOIN sessions s ON s.id = probed.id)`,
    `rarity AS MATERIALIZED (SELECT count(*) <= ${LOOKED_UP_MAX} AS rare FROM probed)`,
  ]
  return { definitions, others }
}

/** Builds `ranges` without LIVE, which goes to `live_ranges`, if few chains are found there. */
function rangesWithout(every: string, candidates: string): string[] {
  return [
    `every AS MATERIALIZED (${every})`,
    `live_probed AS MATERIALIZED (${candidates})`,
    `live_found AS MATERIALIZED (SELECT DISTINCT chain_id FROM live_probed)`,
    `live_rarity AS MATERIALIZED (SELECT count(*) <= ${LOOKED_UP_MAX} AS rare FROM live_probed)`,
    `ranges AS MATERIALIZED (SELECT * FROM every WHERE state <> 'LIVE' OR NOT (SELECT rare FROM live_rarity))`,
    `live_ranges AS MATERIALIZED (SELECT * FROM every WHERE state = 'LIVE' AND (SELECT rare FROM live_rarity))`,
  ]
}

function eitherWay(walked: string, looked: string): string {
  return `SELECT * FROM (${walked}) AS walked WHERE NOT (SELECT rare FROM rarity)
  UNION ALL SELECT * FROM (${looked}) AS looked WHERE (SELECT rare FROM rarity)`
}

/** The column of each order; each has an index on (project_id, state, replica, column, chain_id). */
const ORDERS = {
  ACTIVITY: { column: 'newest_activity_at', type: 'timestamptz' },
  ATTEMPTS: { column: 'attempts', type: 'int' },
  // The total time of a chain that goes on is counted up to `asOf`: the same shift for all chains of one state, so the
  // index order is kept.
  TOTAL_TIME: { column: 'total_key', type: 'int8' },
  NAME: { column: 'name', type: 'text' },
  CREATED_AT: { column: 'created_at', type: 'timestamptz' },
  // Lists only the chains that wait for a retry; its index has no others.
  DUE_AT: { column: 'due_at', type: 'timestamptz' },
} as const

export type ChainOrder = keyof typeof ORDERS

export interface ChainsQuery extends ChainSelection {
  order: ChainOrder
  direction: 'asc' | 'desc'
  /** The time up to which the total time of running chains is counted, in milliseconds since 1970. */
  asOfMs: number
  /** Only chains beyond these positions, in the direction of the order. */
  after: readonly ChainPlace[]
  before: readonly ChainPlace[]
  limit: number
}

/**
 * The value by which a chain is sorted: milliseconds for TOTAL_TIME, a count for ATTEMPTS, a text for NAME, a time for
 * the others.
 */
export type ChainKey = Date | number | string

export interface ChainPlace {
  key: ChainKey
  chainId: string
}

export type ListedChain = ChainRow & { key: ChainKey }

/**
 * Reads a page of chains. Each project has one range per state. The first few chains of each range are read from its
 * index and merged, so a page in the middle of millions reads no more than the first page of ten. An administrator of
 * all projects reads the ranges of all projects, about 10 µs each.
 */
export async function listChains(db: Queryable, query: ChainsQuery): Promise<ListedChain[]> {
  const { text, values } = listStatement(query)
  return (await db.query<ListedChain>(keepsPlanIfUsual(text), values)).rows
}

/** Builds the statement alone, for inspecting its plan. */
export function listStatement(query: ChainsQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const { direction } = query
  const selection = selectionOf(query)
  const { column } = ORDERS[query.order]
  const limit = constant(query.limit)
  const key = query.order === 'TOTAL_TIME' ? `c.${column} + ranges.shift` : `c.${column}`
  const shift = `, CASE WHEN chain_is_over(state) THEN 0 ELSE ${add(query.asOfMs, 'int8')} END AS shift`
  const { definitions, walked, combine } = waysTo(selection, add, { bounds: boundsOf(query, add), columns: shift })
  const walk = `SELECT head.* FROM ranges CROSS JOIN LATERAL (
    SELECT c.chain_id, ${key} AS key FROM chains c WHERE ${walked}
    ORDER BY c.${column} ${direction}, c.chain_id ${direction} LIMIT ${limit}) AS head`
  const heads = combine(
    walk,
    (found, ranges, condition) => `SELECT c.chain_id, ${key} AS key
    FROM ${found} AS found CROSS JOIN ${ranges} JOIN chains c ON c.chain_id = found.chain_id WHERE ${condition}`,
  )
  const text = `
WITH ${definitions.join(',\n')},
page AS MATERIALIZED (
  SELECT * FROM (${heads}) AS head
  ORDER BY head.key ${direction}, head.chain_id ${direction} LIMIT ${limit}
)
SELECT page.key, ${CHAIN_COLUMNS}
FROM page JOIN chains c USING (chain_id) ${CHAIN_JOINS}
ORDER BY page.key ${direction}, page.chain_id ${direction}`
  return { text, values }
}

function constant(limit: number): string {
  return String(Math.trunc(limit))
}

/** Adds the condition that an order implies: DUE_AT shows only chains that wait for a retry. */
export function selectionOf<Query extends ChainSelection & { order: ChainOrder }>(query: Query): Query {
  const { conditions, order } = query
  return order === 'DUE_AT' ? { ...query, conditions: { ...conditions, dueAt: conditions.dueAt ?? {} } } : query
}

/**
 * Builds the bounds of a page. `shift` adds the same time to all running totals of a range, so the index keeps its
 * order.
 */
function boundsOf({ order, direction, after, before }: ChainsQuery, add: Add): string {
  const { column, type } = ORDERS[order]
  const bound = (place: ChainPlace, beyond: boolean) => {
    const value = place.key instanceof Date ? place.key.toISOString() : place.key
    const at = order === 'TOTAL_TIME' ? `${add(value, type)} - ranges.shift` : add(value, type)
    const greater = (direction === 'asc') === beyond
    return ` AND (c.${column}, c.chain_id) ${greater ? '>' : '<'} (${at}, ${add(place.chainId, 'uuid')})`
  }
  return [...after.map((place) => bound(place, true)), ...before.map((place) => bound(place, false))].join('')
}

interface TailsQuery extends ChainSelection {
  limit: number
}

/**
 * Reads ids of the newest attempts of these chains, oldest first. If there are more than `limit` chains, any of them
 * are chosen.
 */
export async function listChainTails(db: Queryable, query: TailsQuery): Promise<string[]> {
  const { text, values } = tailsStatement(query)
  return (await db.query<{ id: string }>(text, values)).rows.map(({ id }) => id)
}

/** Builds the statement alone, for inspecting its plan. */
function tailsStatement(query: TailsQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const limit = add(query.limit, 'int')
  const { definitions, combine, walked } = waysTo(query, add)
  // Scans range by range, so that chains beyond the limit are not read.
  const walk = `SELECT of_range.id FROM ranges CROSS JOIN LATERAL (SELECT c.tail_id AS id FROM chains c WHERE ${walked} LIMIT ${limit}) AS of_range`
  const ids = combine(
    walk,
    (found, ranges, condition) =>
      `SELECT c.tail_id AS id FROM ${found} AS found CROSS JOIN ${ranges} JOIN chains c ON c.chain_id = found.chain_id WHERE ${condition}`,
  )
  const text = `
WITH ${definitions.join(',\n')}
SELECT id FROM (SELECT id FROM (${ids}) AS ways LIMIT ${limit}) AS few ORDER BY id`
  return { text, values }
}

interface CountQuery extends ChainSelection {
  /** The count stops at this number. */
  countMax: number
}

/** Counts the chains of all pages, up to `countMax`. */
export async function countChains(db: Queryable, query: CountQuery): Promise<number> {
  const { text, values } = countStatement(query)
  return (await db.query<{ count: number }>(keepsPlanIfUsual(text), values)).rows[0]!.count
}

/** Builds the statement alone, for inspecting its plan. */
export function countStatement(query: CountQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const limit = constant(query.countMax)
  const { definitions, counted } = countOf(query, limit, add)
  const text = `
WITH ${definitions.join(',\n')}
SELECT count FROM (${counted('ranges')}) AS counted`
  return { text, values }
}

interface StateCount {
  state: StoredChainState
  /** At most `countMax`. */
  count: number
}

/**
 * Counts the chains in each stored state that chains with these conditions may have; each up to `countMax`. The
 * conditions have no `states`.
 */
export async function countChainStates(db: Queryable, query: CountQuery): Promise<StateCount[]> {
  const { text, values } = stateCountStatement(query)
  return (await db.query<StateCount>(keepsPlanIfUsual(text), values)).rows
}

/** Builds the statement alone, for inspecting its plan. */
export function stateCountStatement(query: CountQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const limit = constant(query.countMax)
  const { definitions, counted } = countOf(query, limit, add)
  const states = add(possibleStates(query.conditions), 'chain_state[]')
  const text = `
WITH ${definitions.join(',\n')}
SELECT wanted.state, counted.count FROM unnest(${states}) AS wanted(state) CROSS JOIN LATERAL (
  ${counted('(SELECT * FROM ranges WHERE ranges.state = wanted.state) AS ranges')}) AS counted`
  return { text, values }
}

/** Builds a statement with one row: the number of chains in `ranges`, up to the limit. */
function countOf(query: CountQuery, limit: string, add: Add) {
  const { definitions, combine, walked } = waysTo(query, add)
  const few = (rows: string) => `SELECT count(*) AS count FROM (${rows} LIMIT ${limit}) AS few`
  const counted = (ranges: string) => {
    // Scans range by range, so that chains beyond the limit are not read.
    const walk = `SELECT 1 FROM ${ranges} CROSS JOIN LATERAL (SELECT FROM chains c WHERE ${walked} LIMIT ${limit}) AS of_range`
    const counts = combine(few(walk), (found, from, condition) =>
      few(
        `SELECT 1 FROM ${found} AS found CROSS JOIN ${from === 'ranges' ? ranges : from} CROSS JOIN chains c WHERE c.chain_id = found.chain_id AND ${condition}`,
      ),
    )
    return `SELECT least(sum(count), ${limit})::int8 AS count FROM (${counts}) AS ways`
  }
  return { definitions, counted }
}

import { CHAIN_STATES, type ChainState } from '../../../domain/chain/outlook.ts'
import { type Add, chainConditions, type ChainConditions, createParameters, wordsOf } from './chain-conditions.sql.ts'
import type { Queryable } from '../../database.ts'
import { CHAIN_COLUMNS, CHAIN_JOINS, type ChainRow } from './read-chains.sql.ts'

/** Conditions on chains, and the only project that may be shown; null for all projects. */
interface ChainSelection {
  conditions: ChainConditions
  visibleProjectId: string | null
}

/** At most this many matches of a word search, or kernels of an agent, are looked up one by one. */
const LOOKED_UP_MAX = 5_000

const IN_RANGE = 'c.project_id = ranges.project_id AND c.state = ranges.state'

/** The states that chains with these conditions may have. */
function possibleStates({ states, holdReasons, dueAt }: ChainConditions): ChainState[] {
  const wanted = new Set(states ?? CHAIN_STATES)
  if (dueAt) for (const state of CHAIN_STATES) if (state !== 'WAITING_RETRY' && state !== 'HELD') wanted.delete(state)
  if (holdReasons) for (const state of CHAIN_STATES) if (state !== 'HELD') wanted.delete(state)
  return [...wanted]
}

/** Builds a range of chains for each project and state; `columns` are expressions on `state`, each after a comma. */
function rangeStatement({ conditions, visibleProjectId }: ChainSelection, add: Add, columns: string): string {
  const states = add(possibleStates(conditions), 'chain_state[]')
  const visible = add(visibleProjectId, 'uuid')
  const named = conditions.project === undefined ? '' : ` AND p.name = ${add(conditions.project, 'text')}`
  return `SELECT p.id AS project_id, state${columns} FROM projects p CROSS JOIN unnest(${states}) AS state
  WHERE (${visible} IS NULL OR p.id = ${visible})${named}`
}

/**
 * Two access paths to the same rows: one scans the ranges of an order, the other starts from the few chains that an
 * index finds.
 */
interface Ways {
  /** Definitions for WITH, each followed by a comma. */
  definitions: string
  /** Combines both paths into one statement, of which only one part is executed. */
  either(walked: string, looked: string): string
  /** The condition on a chain `c` of a range in `ranges`, for the scan. */
  walked: string
  /** The condition on a chain `c` that an index found. */
  looked: string
}

/**
 * Chooses the access path. Given ids are looked up. For words and for an agent, an index is first asked whether few
 * chains match; if so, the ranges are not scanned. Frequent matches are soon found by scanning the ranges.
 */
function waysTo({ conditions, visibleProjectId }: ChainSelection, add: Add, bounds = ''): Ways {
  const wanted = (some: ChainConditions) => `${IN_RANGE}${bounds}${chainConditions(some, add)}`
  const { chainIds, agentId, ...others } = conditions
  if (chainIds) {
    return {
      definitions: `found AS MATERIALIZED (SELECT DISTINCT unnest(${add(chainIds, 'uuid[]')}) AS chain_id),`,
      either: (_walked, looked) => looked,
      walked: '',
      looked: wanted({ ...others, ...(agentId !== undefined && { agentId }) }),
    }
  }
  const words = wordsOf(conditions, add)
  if (words !== null) {
    const found = `SELECT chain_id FROM chains_with_words(${words}, ${add(visibleProjectId, 'uuid')}, ${LOOKED_UP_MAX + 1}) AS chain_id`
    const definitions = `found AS MATERIALIZED (${found}),
rarity AS MATERIALIZED (SELECT ${words} IS NOT NULL AND count(*) <= ${LOOKED_UP_MAX} AS rare FROM found),`
    return { definitions, either: eitherWay, walked: wanted(conditions), looked: wanted(conditions) }
  }
  if (agentId !== undefined) {
    const definitions = `on_agent AS MATERIALIZED (
  SELECT session_id FROM kernels WHERE agent_id = ${add(agentId, 'uuid')} LIMIT ${LOOKED_UP_MAX + 1}
), found AS MATERIALIZED (SELECT DISTINCT s.chain_id FROM on_agent k JOIN sessions s ON s.id = k.session_id),
rarity AS MATERIALIZED (SELECT count(*) <= ${LOOKED_UP_MAX} AS rare FROM on_agent),`
    return { definitions, either: eitherWay, walked: wanted(conditions), looked: wanted(others) }
  }
  return { definitions: '', either: (walked) => walked, walked: wanted(conditions), looked: '' }
}

function eitherWay(walked: string, looked: string): string {
  return `SELECT * FROM (${walked}) AS walked WHERE NOT (SELECT rare FROM rarity)
  UNION ALL SELECT * FROM (${looked}) AS looked WHERE (SELECT rare FROM rarity)`
}

/** The column of each order; each has an index on (project_id, state, column, chain_id). */
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
  return (await db.query<ListedChain>(text, values)).rows
}

/** Builds the statement alone, for inspecting its plan. */
export function listStatement(query: ChainsQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const { direction } = query
  const selection = selectionOf(query)
  const { column } = ORDERS[query.order]
  const limit = add(query.limit, 'int')
  const key = query.order === 'TOTAL_TIME' ? `c.${column} + ranges.shift` : `c.${column}`
  const ways = waysTo(selection, add, boundsOf(query, add))
  const walked = `SELECT head.* FROM ranges CROSS JOIN LATERAL (
    SELECT c.chain_id, ${key} AS key FROM chains c WHERE ${ways.walked}
    ORDER BY c.${column} ${direction}, c.chain_id ${direction} LIMIT ${limit}) AS head`
  const looked = `SELECT c.chain_id, ${key} AS key
    FROM found CROSS JOIN ranges JOIN chains c ON c.chain_id = found.chain_id WHERE ${ways.looked}`
  const shift = `CASE WHEN chain_is_over(state) THEN 0 ELSE ${add(query.asOfMs, 'int8')} END`
  const text = `
WITH ranges AS MATERIALIZED (${rangeStatement(selection, add, `, ${shift} AS shift`)}),
${ways.definitions}
page AS MATERIALIZED (
  SELECT * FROM (${ways.either(walked, looked)}) AS head
  ORDER BY head.key ${direction}, head.chain_id ${direction} LIMIT ${limit}
)
SELECT page.key, ${CHAIN_COLUMNS}
FROM page JOIN chains c USING (chain_id) ${CHAIN_JOINS}
ORDER BY page.key ${direction}, page.chain_id ${direction}`
  return { text, values }
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
  const { definitions, either, walked, looked } = waysTo(query, add)
  // Scans range by range, so that chains beyond the limit are not read.
  const walk = `SELECT of_range.id FROM ranges CROSS JOIN LATERAL (SELECT c.tail_id AS id FROM chains c WHERE ${walked} LIMIT ${limit}) AS of_range`
  const look = `SELECT c.tail_id AS id FROM found CROSS JOIN ranges JOIN chains c ON c.chain_id = found.chain_id WHERE ${looked}`
  const text = `
WITH ${definitions} ranges AS (${rangeStatement(query, add, '')})
SELECT id FROM (SELECT id FROM (${either(walk, look)}) AS ways LIMIT ${limit}) AS few ORDER BY id`
  return { text, values }
}

interface CountQuery extends ChainSelection {
  /** The count stops at this number. */
  countMax: number
}

/** Counts the chains of all pages, up to `countMax`. */
export async function countChains(db: Queryable, query: CountQuery): Promise<number> {
  const { text, values } = countStatement(query)
  return (await db.query<{ count: number }>(text, values)).rows[0]!.count
}

/** Builds the statement alone, for inspecting its plan. */
export function countStatement(query: CountQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const limit = add(query.countMax, 'int')
  const { definitions, counted } = countOf(query, limit, add)
  const text = `
WITH ${definitions} ranges AS (${rangeStatement(query, add, '')})
SELECT count FROM (${counted('ranges')}) AS counted`
  return { text, values }
}

interface StateCount {
  state: ChainState
  /** At most `countMax`. */
  count: number
}

/** Counts the chains in each state that chains with these conditions may have; each up to `countMax`. */
export async function countChainStates(db: Queryable, query: CountQuery): Promise<StateCount[]> {
  const { text, values } = stateCountStatement(query)
  return (await db.query<StateCount>(text, values)).rows
}

/** Builds the statement alone, for inspecting its plan. */
export function stateCountStatement(query: CountQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const limit = add(query.countMax, 'int')
  const { definitions, counted } = countOf(query, limit, add)
  const states = add(possibleStates(query.conditions), 'chain_state[]')
  const text = `
WITH ${definitions} every AS MATERIALIZED (${rangeStatement(query, add, '')})
SELECT wanted.state, counted.count FROM unnest(${states}) AS wanted(state) CROSS JOIN LATERAL (
  ${counted('(SELECT * FROM every WHERE every.state = wanted.state) AS ranges')}) AS counted`
  return { text, values }
}

/** Builds a statement with one row: the number of chains in `ranges`, up to the limit. */
function countOf(query: CountQuery, limit: string, add: Add) {
  const { definitions, either, walked, looked } = waysTo(query, add)
  const counted = (ranges: string) => {
    // Scans range by range, so that chains beyond the limit are not read.
    const walk = `SELECT 1 FROM ${ranges} CROSS JOIN LATERAL (SELECT FROM chains c WHERE ${walked} LIMIT ${limit}) AS of_range`
    const look = `SELECT 1 FROM found CROSS JOIN ${ranges} CROSS JOIN chains c WHERE c.chain_id = found.chain_id AND ${looked}`
    const few = (rows: string) => `SELECT count(*) AS count FROM (${rows} LIMIT ${limit}) AS few`
    return `SELECT sum(count)::int8 AS count FROM (${either(few(walk), few(look))}) AS ways`
  }
  return { definitions, counted }
}

import type { Queryable } from '../../database.ts'
import { createParameters, type Add } from './chain-conditions.sql.ts'
import { rangeStatement, waysTo, type ChainSelection } from './chain-ranges.sql.ts'
import { CHAIN_COLUMNS, CHAIN_JOINS, type ChainRow } from './read-chains.sql.ts'

/** The column of each order; each has an index on (project_id, state, column, chain_id). */
const ORDERS = {
  ACTIVITY: { column: 'newest_activity_at', type: 'timestamptz' },
  ATTEMPTS: { column: 'attempts', type: 'int' },
  // Running totals count up to `asOf`: the same shift for all chains of one state, so the index order is kept.
  TOTAL_TIME: { column: 'total_key', type: 'int8' },
  NAME: { column: 'name', type: 'text' },
  CREATED_AT: { column: 'created_at', type: 'timestamptz' },
  // Lists only those that wait for a retry, which alone are in its index.
  DUE_AT: { column: 'due_at', type: 'timestamptz' },
} as const

export type ChainOrder = keyof typeof ORDERS

export interface ChainsQuery extends ChainSelection {
  order: ChainOrder
  direction: 'asc' | 'desc'
  /** The time up to which running totals count, in milliseconds since 1970. */
  asOfMs: number
  /** Only chains beyond these places, in the direction of the order. */
  after: readonly ChainPlace[]
  before: readonly ChainPlace[]
  limit: number
}

/** Milliseconds for TOTAL_TIME, a count for ATTEMPTS, a text for NAME, a time for the others. */
export type ChainKey = Date | number | string

export interface ChainPlace {
  key: ChainKey
  chainId: string
}

export type ListedChain = ChainRow & { key: ChainKey }

/**
 * A page of chains. Each project has one range per state. The first few chains of each range are read from its index
 * and merged, so a page in the middle of millions reads no more than the first page of ten. An administrator of all
 * projects reads the ranges of all projects, about 10 µs each.
 */
export async function listChains(db: Queryable, query: ChainsQuery): Promise<ListedChain[]> {
  const { text, values } = listStatement(query)
  return (await db.query<ListedChain>(text, values)).rows
}

/** The statement by itself, for inspecting its plan. */
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

/** Which chains are on the pages of an order: by when they are due, only those that wait for a retry. */
export function selectionOf<Query extends ChainSelection & { order: ChainOrder }>(query: Query): Query {
  const { conditions, order } = query
  return order === 'DUE_AT' ? { ...query, conditions: { ...conditions, dueAt: conditions.dueAt ?? {} } } : query
}

/** A running total grows by `shift`, the same for all of a range: the index keeps its order. */
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

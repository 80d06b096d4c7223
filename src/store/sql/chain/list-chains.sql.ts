import { CHAIN_STATES } from '../../../domain/chain/chain-state.ts'
import type { Queryable } from '../../database.ts'
import { chainConditions, createParameters, wordsOf, type Add, type ChainConditions } from './chain-conditions.sql.ts'
import { CHAIN_COLUMNS, CHAIN_JOINS, type ChainRow } from './read-chains.sql.ts'

/** The column of each order; each has an index on (project_id, state, column, chain_id). */
const ORDERS = {
  ACTIVITY: { column: 'newest_activity_at', type: 'timestamptz' },
  ATTEMPTS: { column: 'attempts', type: 'int' },
  // Running totals count up to `asOf`: the same shift for all chains of one state, so the index order is kept.
  TOTAL_TIME: { column: 'total_key', type: 'int8' },
} as const

export type ChainOrder = keyof typeof ORDERS

export interface ChainsQuery {
  conditions: ChainConditions
  visibleProjectId: string | null
  order: ChainOrder
  direction: 'asc' | 'desc'
  /** The time up to which running totals count, in milliseconds since 1970. */
  asOfMs: number
  /** Only chains beyond these places, in the direction of the order. */
  after: readonly ChainPlace[]
  before: readonly ChainPlace[]
  limit: number
}

/** Milliseconds for TOTAL_TIME, a count for ATTEMPTS, a time for ACTIVITY. */
export interface ChainPlace {
  key: Date | number
  chainId: string
}

export type ListedChain = ChainRow & { key: Date | number }

const IN_RANGE = 'c.project_id = ranges.project_id AND c.state = ranges.state'

/** Up to this many matches of a word search are sorted directly. */
const WORD_MATCHES_MAX = 5_000

/**
 * A page of chains. Each project has one range per state. The first few chains of each range are read from its index
 * and merged, so a page in the middle of millions reads no more than the first page of ten. An administrator of all
 * projects reads the ranges of all projects, about 10 µs each. A word search first asks the index of words whether few
 * chains match; if so, the ranges are not walked. Frequent words are soon found by walking the ranges.
 */
export async function listChains(db: Queryable, query: ChainsQuery): Promise<ListedChain[]> {
  const { text, values } = listStatement(query)
  return (await db.query<ListedChain>(text, values)).rows
}

/** The statement by itself, for inspecting its plan. */
export function listStatement(query: ChainsQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const { conditions, direction } = query
  const { column } = ORDERS[query.order]
  const shifted = query.order === 'TOTAL_TIME'
  const limit = add(query.limit, 'int')
  const key = shifted ? `c.${column} + ranges.shift` : `c.${column}`
  const wanted = `${IN_RANGE}${boundsOf(query, add)}${chainConditions(conditions, add)}`
  const walked = `SELECT head.* FROM ranges CROSS JOIN LATERAL (
    SELECT c.chain_id, ${key} AS key FROM chains c WHERE ${wanted}
    ORDER BY c.${column} ${direction}, c.chain_id ${direction} LIMIT ${limit}) AS head`
  const looked = `SELECT c.chain_id, ${key} AS key
    FROM found CROSS JOIN ranges JOIN chains c ON c.chain_id = found.chain_id WHERE ${wanted}`
  const words = wordsOf(conditions, add)
  const shift = `CASE WHEN chain_is_over(state) THEN 0 ELSE ${add(query.asOfMs, 'int8')} END`
  const text = `
WITH ranges AS MATERIALIZED (${rangeStatement(query, add, `, ${shift} AS shift`)}),
${words === null ? '' : foundStatement(words, add(query.visibleProjectId, 'uuid'))}
page AS MATERIALIZED (
  SELECT * FROM (${words === null ? walked : eitherWay(walked, looked)}) AS head
  ORDER BY head.key ${direction}, head.chain_id ${direction} LIMIT ${limit}
)
SELECT page.key, ${CHAIN_COLUMNS}
FROM page JOIN chains c USING (chain_id) ${CHAIN_JOINS}
ORDER BY page.key ${direction}, page.chain_id ${direction}`
  return { text, values }
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

function foundStatement(words: string, visible: string): string {
  return `found AS MATERIALIZED (
  SELECT chain_id FROM chains_with_words(${words}, ${visible}, ${WORD_MATCHES_MAX + 1}) AS chain_id
), rarity AS MATERIALIZED (
  SELECT ${words} IS NOT NULL AND count(*) <= ${WORD_MATCHES_MAX} AS rare FROM found
),`
}

/** Only the branch that is wanted is executed. */
function eitherWay(walked: string, looked: string): string {
  return `SELECT * FROM (${walked}) AS walked WHERE NOT (SELECT rare FROM rarity)
  UNION ALL SELECT * FROM (${looked}) AS looked WHERE (SELECT rare FROM rarity)`
}

export interface CountQuery extends Pick<ChainsQuery, 'conditions' | 'visibleProjectId'> {
  /** No more rows are looked for. */
  countMax: number
}

/** The number of chains on all pages, up to `countMax`. */
export async function countChains(db: Queryable, query: CountQuery): Promise<number> {
  const { text, values } = countStatement(query)
  return (await db.query<{ count: number }>(text, values)).rows[0]!.count
}

/** The statement by itself, for inspecting its plan. */
export function countStatement(query: CountQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const { conditions, visibleProjectId } = query
  const limit = add(query.countMax, 'int')
  const ranges = rangeStatement(query, add, '')
  const wanted = `${IN_RANGE}${chainConditions(conditions, add)}`
  const counted = (rows: string) => `SELECT count(*) AS count FROM (${rows} LIMIT ${limit}) AS counted`
  const words = wordsOf(conditions, add)
  // Range by range, so that what lies behind the limit is not looked at.
  const walked = counted(
    `SELECT 1 FROM ranges CROSS JOIN LATERAL (SELECT FROM chains c WHERE ${wanted} LIMIT ${limit}) AS of_range`,
  )
  const looked = counted(
    `SELECT 1 FROM found CROSS JOIN ranges CROSS JOIN chains c WHERE c.chain_id = found.chain_id AND ${wanted}`,
  )
  const text = `
WITH ${words === null ? '' : foundStatement(words, add(visibleProjectId, 'uuid'))} ranges AS (${ranges})
${words === null ? walked : `SELECT sum(count)::int8 AS count FROM (${eitherWay(walked, looked)}) AS either`}`
  return { text, values }
}

function rangeStatement(
  { conditions, visibleProjectId }: Pick<ChainsQuery, 'conditions' | 'visibleProjectId'>,
  add: Add,
  columns: string,
): string {
  const states = add([...new Set(conditions.states ?? CHAIN_STATES)], 'chain_state[]')
  const visible = add(visibleProjectId, 'uuid')
  const named = conditions.project === undefined ? '' : ` AND p.name = ${add(conditions.project, 'text')}`
  return `SELECT p.id AS project_id, state${columns} FROM projects p CROSS JOIN unnest(${states}) AS state
  WHERE (${visible} IS NULL OR p.id = ${visible})${named}`
}

import type { ChainState } from '../../../domain/chain/chain-state.ts'
import type { Queryable } from '../../database.ts'
import { createParameters, type Add } from './chain-conditions.sql.ts'
import { possibleStates, rangeStatement, waysTo, type ChainSelection } from './chain-ranges.sql.ts'

export interface CountQuery extends ChainSelection {
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
  const limit = add(query.countMax, 'int')
  const { definitions, counted } = countOf(query, limit, add)
  const text = `
WITH ${definitions} ranges AS (${rangeStatement(query, add, '')})
SELECT count FROM (${counted('ranges')}) AS counted`
  return { text, values }
}

export interface StateCount {
  state: ChainState
  /** Up to `countMax`. */
  count: number
}

/** The number of chains in each state that chains of these conditions may have; each up to `countMax`. */
export async function countChainStates(db: Queryable, query: CountQuery): Promise<StateCount[]> {
  const { text, values } = stateCountStatement(query)
  return (await db.query<StateCount>(text, values)).rows
}

/** The statement by itself, for inspecting its plan. */
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

/** `counted` has one row with the number of chains of `ranges`, up to the limit. */
function countOf(query: CountQuery, limit: string, add: Add) {
  const { definitions, either, walked, looked } = waysTo(query, add)
  const counted = (ranges: string) => {
    // Range by range, so that what lies behind the limit is not looked at.
    const walk = `SELECT 1 FROM ${ranges} CROSS JOIN LATERAL (SELECT FROM chains c WHERE ${walked} LIMIT ${limit}) AS of_range`
    const look = `SELECT 1 FROM found CROSS JOIN ${ranges} CROSS JOIN chains c WHERE c.chain_id = found.chain_id AND ${looked}`
    const few = (rows: string) => `SELECT count(*) AS count FROM (${rows} LIMIT ${limit}) AS few`
    return `SELECT sum(count)::int8 AS count FROM (${either(few(walk), few(look))}) AS ways`
  }
  return { definitions, counted }
}

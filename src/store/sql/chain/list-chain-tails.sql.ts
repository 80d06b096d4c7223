import type { Queryable } from '../../database.ts'
import { createParameters } from './chain-conditions.sql.ts'
import { rangeStatement, waysTo, type ChainSelection } from './chain-ranges.sql.ts'

export interface TailsQuery extends ChainSelection {
  limit: number
}

/** Ids of the newest attempts of these chains, oldest first; of more than `limit` chains any. */
export async function listChainTails(db: Queryable, query: TailsQuery): Promise<string[]> {
  const { text, values } = tailsStatement(query)
  return (await db.query<{ id: string }>(text, values)).rows.map(({ id }) => id)
}

/** The statement by itself, for inspecting its plan. */
export function tailsStatement(query: TailsQuery): { text: string; values: unknown[] } {
  const { values, add } = createParameters()
  const limit = add(query.limit, 'int')
  const { definitions, either, walked, looked } = waysTo(query, add)
  // Range by range, so that what lies behind the limit is not looked at.
  const walk = `SELECT of_range.id FROM ranges CROSS JOIN LATERAL (SELECT c.tail_id AS id FROM chains c WHERE ${walked} LIMIT ${limit}) AS of_range`
  const look = `SELECT c.tail_id AS id FROM found CROSS JOIN ranges JOIN chains c ON c.chain_id = found.chain_id WHERE ${looked}`
  const text = `
WITH ${definitions} ranges AS (${rangeStatement(query, add, '')})
SELECT id FROM (SELECT id FROM (${either(walk, look)}) AS ways LIMIT ${limit}) AS few ORDER BY id`
  return { text, values }
}

import type { FailureCause } from '../../domain/retry/causes.ts'
import type { Queryable } from '../database.ts'

/** What attempts of one outcome in one chain add up to. */
export interface ChainTotalRow {
  chainId: string
  result: 'SUCCESS' | 'FAILURE' | 'UNDEFINED'
  /** Null where it did not fail, or nobody could tell why. */
  cause: FailureCause | null
  attempts: number
  /** User code, in seconds; up to now where it runs. */
  runningSeconds: number
  /** From creation to user code, or to the end where it never came to that. */
  pendingSeconds: number
  /** Of the whole chain, at the same moment. */
  totalSeconds: number
}

/** A thousand attempts: some 2 ms. Index: sessions_chain_id_attempt_key. */
const SQL = `
SELECT c.chain_id AS "chainId", s.result, s.failure_cause AS cause, count(*) AS attempts,
  coalesce(sum(extract(epoch FROM coalesce(s.terminated_at, now()) - s.started_at)), 0)::float8 AS "runningSeconds",
  sum(extract(epoch FROM coalesce(s.started_at, s.terminated_at, now()) - s.created_at))::float8 AS "pendingSeconds",
  extract(epoch FROM coalesce(c.ended_at, now()) - c.created_at)::float8 AS "totalSeconds"
FROM chains c JOIN sessions s ON s.chain_id = c.chain_id AND s.project_id = c.project_id
WHERE c.chain_id = ANY($1::uuid[])
GROUP BY c.chain_id, s.result, s.failure_cause
ORDER BY c.chain_id, attempts DESC, cause`

export async function readChainTotals(db: Queryable, chainIds: readonly string[]): Promise<ChainTotalRow[]> {
  return (await db.query<ChainTotalRow>(SQL, [chainIds])).rows
}

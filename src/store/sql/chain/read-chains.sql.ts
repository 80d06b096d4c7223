import type { ChainState } from '../../../domain/chain/chain-state.ts'
import type { NewestAttempt } from '../../../domain/chain/outlook.ts'
import type { FailureCause } from '../../../domain/session/causes.ts'
import type { Queryable } from '../../database.ts'

/** A chain with data of its newest attempt and of that attempt's decision. */
export interface ChainRow extends Omit<NewestAttempt, 'attempt'> {
  chainId: string
  projectId: string
  name: string
  labels: Record<string, string>
  /** The id of the newest attempt. */
  tailId: string
  attempts: number
  state: ChainState
  cause: FailureCause | null
  createdAt: Date
  newestActivityAt: Date
  /** Null while it is not over. */
  endedAt: Date | null
  /** Seconds from its creation to its end, or to now. */
  totalSeconds: number
  /** The database's time. */
  now: Date
}

/** The columns of chains `c`; used with `CHAIN_JOINS`. */
export const CHAIN_COLUMNS = `c.chain_id AS "chainId", c.project_id AS "projectId", c.name, c.labels,
  c.tail_id AS "tailId", c.attempts, c.state, c.cause, c.created_at AS "createdAt",
  c.newest_activity_at AS "newestActivityAt", c.ended_at AS "endedAt",
  extract(epoch FROM coalesce(c.ended_at, reprise_now()) - c.created_at)::float8 AS "totalSeconds", reprise_now() AS now,
  tail.status, tail.session_type AS "sessionType", tail.retry_count AS "retryCount", tail.max_retries AS "maxRetries",
  d.phase, d.explanation, d.hold_reason AS "holdReason", d.due_at AS "dueAt"`

export const CHAIN_JOINS = `JOIN sessions tail ON tail.id = c.tail_id LEFT JOIN retry_decisions d ON d.session_id = c.tail_id`

const SQL = `
SELECT ${CHAIN_COLUMNS} FROM chains c ${CHAIN_JOINS}
WHERE c.chain_id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR c.project_id = $2)`

export async function readChains(
  db: Queryable,
  chainIds: readonly string[],
  visibleProjectId: string | null,
): Promise<ChainRow[]> {
  return (await db.query<ChainRow>(SQL, [chainIds, visibleProjectId])).rows
}

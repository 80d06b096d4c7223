import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Database } from '../../store/database.ts'
import { enforceBatchTimeouts as endTimedOut } from '../../store/sql/session/enforce-batch-timeouts.sql.ts'
import type { RunReport } from '../background-service.ts'

/** RUNNING → TERMINATING for sessions that have run for longer than their batch timeout. */
export async function enforceBatchTimeouts({ db, wake }: { db: Database; wake: Wake }): Promise<RunReport> {
  const { moved, nextInMs } = await endTimedOut(db, CLAIM_BATCH_SESSIONS_MAX)
  if (moved > 0) wake.wake('terminate-sessions', 'events')
  return { done: moved, more: moved === CLAIM_BATCH_SESSIONS_MAX, againInMs: nextInMs }
}

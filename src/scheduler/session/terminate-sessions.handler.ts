import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import { LIFECYCLE_HANDLERS } from '../../domain/session/handlers.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Database } from '../../store/database.ts'
import { claimSessions, type ClaimedSession } from '../../store/sql/session/claim-sessions.sql.ts'
import { orderStops, settleEnds } from '../../store/sql/session/end-sessions.sql.ts'
import { enforceBatchTimeouts as endTimedOut } from '../../store/sql/session/enforce-batch-timeouts.sql.ts'
import type { RunReport } from '../background-service.ts'
import type { LifecycleHandler } from '../lifecycle.ts'

const declaration = LIFECYCLE_HANDLERS['terminate-sessions']
/** Kernels that already have the order only wait for their agents, or for the timeout. */
const withoutOrder = declaration.kernelIn.filter((status) => status !== 'TERMINATING')

/** TERMINATING → TERMINATED: orders kernels to stop; succeeds at once if there is no agent to wait for. */
export const terminateSessions: LifecycleHandler<ClaimedSession> = {
  declaration,
  followedBy: null,
  wakes: ['decide-retries', 'schedule-sessions'],
  agentsOf: (session) => session.kernels.flatMap(({ agentId }) => agentId ?? []),
  claim: (tx, bounds) => claimSessions(tx, { ...declaration, kernelIn: withoutOrder, judgesFailures: false }, bounds),
  async execute(tx, sessions) {
    const ids = sessions.map(({ id }) => id)
    await orderStops(tx, ids)
    await settleEnds(tx, ids)
    const gone = sessions.filter(({ kernels }) => kernels.every((kernel) => kernel.confirmedGone))
    return { successes: gone.map(({ id }) => id), failures: [], skipped: [] }
  },
}

/** RUNNING → TERMINATING for sessions that have run for longer than their batch timeout. */
export async function enforceBatchTimeouts({ db, wake }: { db: Database; wake: Wake }): Promise<RunReport> {
  const { moved, nextInMs } = await endTimedOut(db, CLAIM_BATCH_SESSIONS_MAX)
  if (moved > 0) wake.wake('terminate-sessions', 'events')
  return { done: moved, more: moved === CLAIM_BATCH_SESSIONS_MAX, againInMs: nextInMs }
}

import { LIFECYCLE_HANDLERS } from '../../domain/session/handlers.ts'
import { claimSessions, type ClaimedSession } from '../../store/sql/session/claim-sessions.sql.ts'
import { orderStops, settleEnds } from '../../store/sql/session/end-sessions.sql.ts'
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

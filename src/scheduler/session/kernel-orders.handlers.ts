import { type FailureError, isPullFailure, isRefusal } from '../../domain/session/failure.ts'
import { isTerminal, LIFECYCLE_HANDLERS, type LifecycleDeclaration } from '../../domain/session/lifecycle.ts'
import type { Wake, WakeTopic } from '../../domain/wake.ts'
import {
  type ClaimedKernel,
  type ClaimedSession,
  claimSessionsBy,
  withoutOtherAgent,
} from '../../store/sql/session/claim-sessions.sql.ts'
import type { HandlerResult, LifecycleHandler } from '../lifecycle.ts'
import { CLAIM_BATCH_SESSIONS_MAX } from '../../domain/limits.ts'
import type { Database } from '../../store/database.ts'
import {
  enforceBatchTimeouts as endTimedOut,
  orderStops,
  settleEnds,
} from '../../store/sql/session/end-sessions.sql.ts'
import type { RunReport } from '../background-service.ts'

/** SCHEDULED → PREPARING: agents prepare image and working directory. */
export const prepareSessions = advanceKernels(LIFECYCLE_HANDLERS['prepare-sessions'], ['promote-to-prepared'])

/** PREPARED → CREATING: agents start the kernels that they have prepared. */
export const startSessions = advanceKernels(LIFECYCLE_HANDLERS['start-sessions'], ['promote-to-running'])

const TERMINATE = LIFECYCLE_HANDLERS['terminate-sessions']
/**
 * Statuses of kernels that have not been ordered to stop. A kernel that has been only waits for its agent, or for the
 * timeout.
 */
const WITHOUT_ORDER = TERMINATE.kernelIn.filter((status) => status !== 'TERMINATING')

/** TERMINATING → TERMINATED: orders kernels to stop; succeeds at once if there is no agent to wait for. */
export const terminateSessions: LifecycleHandler<ClaimedSession> = {
  declaration: TERMINATE,
  followedBy: null,
  wakes: ['decide-retries', 'schedule-sessions'],
  agentsOf: (session) => session.kernels.flatMap(({ agentId }) => agentId ?? []),
  claim: claimSessionsBy({ ...TERMINATE, kernelIn: WITHOUT_ORDER, judgesFailures: false }),
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

/**
 * A handler that advances kernels by writing orders, which their agents read with the next sync. It fails a session if
 * one of its kernels failed or ended before it ran.
 */
function advanceKernels(
  declaration: LifecycleDeclaration,
  wakes: readonly WakeTopic[],
): LifecycleHandler<ClaimedSession> {
  return {
    declaration,
    followedBy: null,
    wakes,
    agentsOf: (session) => session.kernels.flatMap(({ agentId }) => agentId ?? []),
    claim: claimSessionsBy({ ...declaration, judgesFailures: true }),
    async execute(tx, sessions) {
      const result: HandlerResult = { successes: [], failures: [], skipped: [] }
      for (const session of sessions) {
        const failed = session.kernels.find(failedBeforeItRan)
        if (failed) result.failures.push(failureOf(session, failed))
        else if (session.kernels.some(({ status }) => declaration.kernelIn.includes(status)))
          result.successes.push(session.id)
      }
      const pulls = result.failures.filter(({ error }) => isPullFailure(error))
      const last = await withoutOtherAgent(tx, pulls)
      for (const failure of pulls) failure.nowhereElse = last.has(failure.id)
      return result
    },
  }
}

function failureOf({ id }: ClaimedSession, failed: ClaimedKernel): HandlerResult['failures'][number] {
  const error = errorOf(failed)
  if (isRefusal(error)) return { id, error, giveUpNow: true, nowhereElse: true }
  return { id, error, giveUpNow: failed.agentLost || isPullFailure(error) }
}

function failedBeforeItRan(kernel: ClaimedKernel): boolean {
  return kernel.startedAt === null && (kernel.error !== null || kernel.agentLost || isTerminal(kernel.status))
}

function errorOf(kernel: ClaimedKernel): FailureError {
  const agentId = kernel.agentId ?? undefined
  return { ...(kernel.error ?? errorWithoutReport(kernel)), agentId }
}

/** The error of a kernel whose agent was found lost just after the assignment, or that ended without a reason. */
function errorWithoutReport({ agentLost }: ClaimedKernel): FailureError {
  if (agentLost) return { name: 'agent-lost', message: 'its agent was lost before it received the kernel' }
  return { name: 'executor-failed', message: 'a kernel ended before it ran' }
}

import type { FailureError } from '../../domain/session/failure.ts'
import { LIFECYCLE_HANDLERS, type LifecycleDeclaration } from '../../domain/session/handlers.ts'
import { isTerminal } from '../../domain/session/statuses.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import { claimSessions, type ClaimedKernel, type ClaimedSession } from '../../store/sql/session/claim-sessions.sql.ts'
import type { HandlerResult, LifecycleHandler } from '../lifecycle.ts'

/** SCHEDULED → PREPARING: agents prepare image and working directory. */
export const prepareSessions = advanceKernels(LIFECYCLE_HANDLERS['prepare-sessions'], ['promote-to-prepared'])

/** PREPARED → CREATING: agents start the kernels that they have prepared. */
export const startSessions = advanceKernels(LIFECYCLE_HANDLERS['start-sessions'], ['promote-to-running'])

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
    claim: (tx, bounds) => claimSessions(tx, { ...declaration, judgesFailures: true }, bounds),
    async execute(_tx, sessions) {
      const result: HandlerResult = { successes: [], failures: [], skipped: [] }
      for (const session of sessions) {
        const failed = session.kernels.find(failedBeforeItRan)
        if (failed) result.failures.push({ id: session.id, error: errorOf(failed), giveUpNow: isHopeless(failed) })
        else if (session.kernels.some(({ status }) => declaration.kernelIn.includes(status)))
          result.successes.push(session.id)
      }
      return result
    },
  }
}

/** On this agent. */
function isHopeless({ agentLost, error }: ClaimedKernel): boolean {
  return agentLost || error?.name === 'environment-too-large'
}

function failedBeforeItRan(kernel: ClaimedKernel): boolean {
  return kernel.startedAt === null && (kernel.error !== null || kernel.agentLost || isTerminal(kernel.status))
}

function errorOf(kernel: ClaimedKernel): FailureError {
  const agentId = kernel.agentId ?? undefined
  return { ...(kernel.error ?? errorWithoutReport(kernel)), agentId }
}

/**
 * Either the kernel's agent was found lost just after the assignment, or the kernel ended without a reported reason.
 */
function errorWithoutReport({ agentLost }: ClaimedKernel): FailureError {
  if (agentLost) return { name: 'agent-lost', message: 'its agent was lost before it received the kernel' }
  return { name: 'executor-failed', message: 'a kernel ended before it ran' }
}

import { RepriseError } from '../../domain/errors.ts'
import type { RetryPhase } from '../../domain/session/causes.ts'
import type { RetryChange } from '../../store/sql/retry/change-retry.sql.ts'
import { requireSessionId } from '../session/require-session-id.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

/** What is added to the explanation of a decision that a person changes. */
export const retryCancelledBy = (name: string, reason?: string | null) =>
  `cancelled by ${name}${reason ? `: ${reason}` : ''}`
export const retryDueBy = (name: string) => `made due at once by ${name}`

export interface PendingRetryInput {
  /** The session that failed. */
  sessionId: string
}

/** @throws RepriseError SESSION_NOT_FOUND */
export function retryTarget({ viewer }: ServiceContext, { sessionId }: PendingRetryInput) {
  requireSessionId(sessionId)
  return { sessionId, visibleProjectId: viewer.projectId, actor: actorOf(viewer) }
}

/** @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY */
export function requireChanged({ sessionId }: PendingRetryInput, change: RetryChange | undefined): void {
  if (!change) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  if (change.changed) return
  // If it was pending when the statement started, a concurrent call was first.
  const message = `session ${sessionId} has a retry that was dispatched or cancelled at this moment`
  throw refusePendingRetry(sessionId, change.phase) ?? new RepriseError('NO_PENDING_RETRY', message)
}

/** Undefined if a retry in this phase can be cancelled, changed or made due; null is the phase of an undecided session. */
export function refusePendingRetry(sessionId: string, phase: RetryPhase | null): RepriseError | undefined {
  if (phase === 'SCHEDULED' || phase === 'HELD') return undefined
  const state = phase === null ? 'no retry decision yet' : `a retry that is ${phase}, none that is scheduled or held`
  return new RepriseError('NO_PENDING_RETRY', `session ${sessionId} has ${state}`)
}

import { RepriseError } from '../../domain/errors.ts'
import type { RetryPhase } from '../../domain/session/causes.ts'
import type { RetryChange } from '../../store/sql/retry/change-retry.sql.ts'
import { requireSessionId } from '../session/require-session-id.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

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
  if (!change.changed) {
    throw new RepriseError('NO_PENDING_RETRY', `session ${sessionId} has ${stateOf(change.phase)}`)
  }
}

function stateOf(phase: RetryPhase | null): string {
  if (phase === null) return 'no retry decision yet'
  // It was pending when the statement started, but a concurrent call was first.
  if (phase === 'SCHEDULED' || phase === 'HELD') return 'a retry that was dispatched or cancelled at this moment'
  return `a retry that is ${phase}, none that is scheduled or held`
}

import { RepriseError } from '../domain/errors.ts'
import type { RetryChange } from '../store/sql/change-retry.sql.ts'
import type { ServiceContext } from './service-context.ts'

export interface PendingRetryInput {
  sessionId: string
}

export function whoseRetry({ viewer }: ServiceContext, { sessionId }: PendingRetryInput) {
  return { sessionId, visibleProjectId: viewer.projectId, actor: viewer.name }
}

/** @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY */
export function requireChanged({ sessionId }: PendingRetryInput, change: RetryChange | undefined): void {
  if (!change) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  if (!change.changed) {
    const state = change.phase === null ? 'no retry decision yet' : `a retry that is ${change.phase}`
    throw new RepriseError('NO_PENDING_RETRY', `session ${sessionId} has ${state}, none that is scheduled or held`)
  }
}

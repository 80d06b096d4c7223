import { RepriseError } from '../../domain/errors.ts'
import { REASON_LENGTH_MAX } from '../../domain/limits.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { isTerminal, type SessionStatus } from '../../domain/session/lifecycle.ts'
import { terminateSessionRow } from '../../store/sql/session/terminate-session.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { endWaitingRetry } from '../retry/change-retry.ts'
import { requireSessionId } from './read-sessions.ts'
import type { ServiceContext } from '../service-context.ts'
import { refuseInput } from '../input/parse-input.ts'

export function alreadyFinished(id: string, status: SessionStatus): RepriseError {
  return new RepriseError('SESSION_ALREADY_FINISHED', `session ${id} has ended: it is ${status}`)
}

/** The reason that is stored with the session. */
export function terminationReason(name: string, reason: string | null | undefined): string {
  return reason || `ended by ${name}`
}

/**
 * Terminates a session on behalf of a person; it is not retried. `force` kills its kernels without a grace period. If
 * the session has failed and waits for its retry, the retry is cancelled.
 * @throws RepriseError SESSION_NOT_FOUND, SESSION_ALREADY_FINISHED, VALIDATION_FAILED, FORBIDDEN
 */
export async function terminateSession(
  context: ServiceContext,
  input: { sessionId: string; force?: boolean | null; reason?: string | null },
): Promise<{ sessionId: string }> {
  const { db, viewer, wake } = context
  assertMayChange(viewer)
  const { sessionId: id, force, reason } = input
  requireSessionId(id)
  if (reason && (reason.length > REASON_LENGTH_MAX || !isStorableText(reason))) {
    const message = `must be at most ${REASON_LENGTH_MAX} characters, and ${STORABLE_TEXT}`
    refuseInput([{ path: 'reason', message }])
  }
  const from = await terminateSessionRow(db, {
    id,
    visibleProjectId: viewer.projectId,
    actor: actorOf(viewer),
    force: force ?? false,
    reason: terminationReason(viewer.name, reason),
  })
  if (from === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`)
  if (isTerminal(from)) {
    if (await endWaitingRetry(context, { sessionId: id, reason })) {
      wake.wake('events', 'schedule-sessions')
      return { sessionId: id }
    }
    throw alreadyFinished(id, from)
  }
  wake.wake('terminate-sessions', 'promote-to-terminated', 'decide-retries', 'drive-routes', 'events')
  return { sessionId: id }
}

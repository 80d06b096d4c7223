import { RepriseError } from '../../domain/errors.ts'
import { REASON_LENGTH_MAX } from '../../domain/limits.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { isTerminal, type SessionStatus } from '../../domain/session/lifecycle.ts'
import { terminateSessionRow } from '../../store/sql/session/terminate-session.sql.ts'
import { actorOf, assertMayChange, assertMayEnd } from '../access/authorize.ts'
import { endAttempts } from '../retry/decide-session.ts'
import { retryCancelledBy } from '../../domain/retry/explain.ts'
import type { Actor } from '../../store/sql/access/audit.sql.ts'
import { lockTails } from '../../store/sql/retry/change-retry.sql.ts'
import { requireSessionId } from './read-sessions.ts'
import type { ServiceContext } from '../service-context.ts'
import { refuseInput } from '../input/parse-input.ts'

/** Names the newest attempt of a chain, for people who have given the id of any of its sessions. */
export function newestAttemptOf(id: string, tail: { id: string }): string {
  return tail.id === id ? `session ${id}` : `the newest attempt ${tail.id} of the chain of session ${id}`
}

/** Why a session cannot be terminated whose chain has neither a live attempt nor a waiting retry. */
export function alreadyFinished(id: string, tail: { id: string; status: SessionStatus }): RepriseError {
  return new RepriseError('SESSION_ALREADY_FINISHED', `${newestAttemptOf(id, tail)} has ended: it is ${tail.status}`)
}

/** The reason that is stored with the session. */
export function terminationReason(name: string, reason: string | null | undefined): string {
  return reason || `ended by ${name}`
}

/**
 * Ends the chain of a session on behalf of a person: the attempt that is live, or the retry that it waits for. Any
 * session of the chain names it. The chain is not retried any more, until somebody resubmits it. `force` kills kernels
 * without a grace period. Returns the session that was terminated, or whose retry was cancelled.
 * @throws RepriseError SESSION_NOT_FOUND, SESSION_ALREADY_FINISHED, VALIDATION_FAILED, FORBIDDEN
 */
export async function terminateSession(
  context: ServiceContext,
  input: { sessionId: string; force?: boolean | null; reason?: string | null },
): Promise<{ sessionId: string }> {
  const { db, viewer, wake, metrics } = context
  assertMayChange(viewer)
  const { sessionId: id, reason } = input
  requireSessionId(id)
  if (reason && (reason.length > REASON_LENGTH_MAX || !isStorableText(reason))) {
    const message = `must be at most ${REASON_LENGTH_MAX} characters, and ${STORABLE_TEXT}`
    refuseInput([{ path: 'reason', message }])
  }
  await assertMayEnd(context, 'session', id)
  const order = {
    actor: actorOf(viewer, reason),
    force: input.force ?? false,
    reason: terminationReason(viewer.name, reason),
  }
  // A live session is the newest of its chain: one statement is enough.
  const from = await terminateSessionRow(db, { id, visibleProjectId: viewer.projectId, ...order })
  if (from === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`)
  const ended = isTerminal(from) ? await endChain(context, id, order, reason) : { sessionId: id, retries: 0 }
  if (ended.retries > 0) metrics.retries.cancelled.inc()
  wake.wake(
    'terminate-sessions',
    'promote-to-terminated',
    'decide-retries',
    'drive-routes',
    'events',
    'schedule-sessions',
  )
  return { sessionId: ended.sessionId }
}

/** For a session that has ended: ends the newest session of its chain, or cancels that session's pending retry. */
async function endChain(
  { db, viewer, log }: ServiceContext,
  id: string,
  order: { actor: Actor; force: boolean; reason: string },
  reason: string | null | undefined,
): Promise<{ sessionId: string; retries: number }> {
  return db.transaction(async (tx) => {
    const tail = (await lockTails(tx, [id], viewer.projectId)).get(id)
    if (tail === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`)
    const retryNote = retryCancelledBy(viewer.name, reason)
    const { ended, retries } = await endAttempts(tx, [tail], { ...order, retryNote, log })
    if (!ended.has(tail.id)) throw alreadyFinished(id, tail)
    return { sessionId: tail.id, retries }
  })
}

import { RepriseError } from '../../domain/errors.ts'
import type { RetryPhase } from '../../domain/session/failure.ts'
import {
  cancelPendingRetry,
  lockDecision,
  makeRetryDue,
  type RetryChange,
  updateRetryRow,
} from '../../store/sql/retry/change-retry.sql.ts'
import { requireSessionId } from '../session/read-sessions.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf, assertMayChange, assertMayEnd } from '../access/authorize.ts'
import { overridePolicy } from '../../domain/resubmission.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/stored-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import type { Logger } from '../../observability/log.ts'
import type { Queryable } from '../../store/database.ts'
import { readForDecision, type UndecidedSession } from '../../store/sql/retry/claim-undecided.sql.ts'
import type { DecisionRow } from '../../store/sql/retry/record-decisions.sql.ts'
import { wakeDependents } from '../../store/sql/session/creation-scope.sql.ts'
import { retryCancelledBy, retryEventData } from '../../domain/retry/explain.ts'
import { decideSession, decisionRow } from './decide-session.ts'
import { argumentError, issuesUnder, refuseInput } from '../input/parse-input.ts'

export const retryDueBy = (name: string) => `made due at once by ${name}`

interface PendingRetryInput {
  /** The failed session. */
  sessionId: string
}

/**
 * Returns undefined if a retry in this phase can be cancelled, changed or made due. An undecided session has the phase
 * null.
 */
export function refusePendingRetry(sessionId: string, phase: RetryPhase | null): RepriseError | undefined {
  if (phase === 'SCHEDULED' || phase === 'HELD') return undefined
  const state = phase === null ? 'no retry decision yet' : `a retry that is ${phase}, none that is scheduled or held`
  return new RepriseError('NO_PENDING_RETRY', `session ${sessionId} has ${state}`)
}

/**
 * Cancels a scheduled or held retry. The chain ends as CANCELLED and is not retried until somebody resubmits it.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function cancelRetry(context: ServiceContext, input: PendingRetryInput): Promise<{ sessionId: string }> {
  assertMayChange(context.viewer)
  const target = retryTarget(context, input)
  await assertMayEnd(context, 'session', input.sessionId)
  requireChanged(
    input,
    await cancelPendingRetry(context.db, {
      ...target,
      reason: retryCancelledBy(context.viewer.name),
    }),
  )
  context.metrics.retries.cancelled.inc()
  // Other sessions may depend on this chain, which may now have ended without success.
  context.wake.wake('events', 'schedule-sessions')
  return { sessionId: input.sessionId }
}

/**
 * Makes a scheduled or held retry due now. The same conditions may hold it again.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function retryNow(context: ServiceContext, input: PendingRetryInput): Promise<{ sessionId: string }> {
  assertMayChange(context.viewer)
  requireChanged(
    input,
    await makeRetryDue(context.db, {
      ...retryTarget(context, input),
      reason: retryDueBy(context.viewer.name),
    }),
  )
  context.wake.wake('events', 'dispatch-retries')
  return { sessionId: input.sessionId }
}

interface UpdateRetryInput {
  sessionId: string
  /** Fields that replace those of the session's policy. */
  policy?: unknown
}

/**
 * Changes the policy of a chain whose retry is scheduled or held. The failed session is decided again, as if it had
 * failed now under the new policy; that may also end the chain. The child inherits the policy.
 * @throws RepriseError VALIDATION_FAILED, SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function updateRetry(context: ServiceContext, input: UpdateRetryInput): Promise<{ sessionId: string }> {
  const { db, viewer, wake, metrics } = context
  assertMayChange(viewer)
  const { sessionId, policy: written, ...unknown } = input
  const target = retryTarget(context, input)
  const given = parse(written, Object.keys(unknown))
  const decision = await db.transaction(async (tx) => {
    const phase = await lockDecision(tx, target)
    const pending = phase === 'SCHEDULED' || phase === 'HELD'
    requireChanged(input, phase === undefined ? undefined : { sessionId, phase, changed: pending })
    const made = await decideAnew(context, tx, sessionId, given)
    if (made.phase !== 'SCHEDULED') {
      await assertMayEnd({ db: tx, viewer }, 'session', sessionId)
      await wakeDependents(tx, [made.chainId])
    }
    return made
  })
  if (decision.phase === 'EXHAUSTED') metrics.retries.exhausted.inc({ cause: decision.cause! })
  else if (decision.phase !== 'SCHEDULED') metrics.retries.cancelled.inc()
  wake.wake('events', 'dispatch-retries', 'schedule-sessions')
  return { sessionId }
}

/** @throws RepriseError SESSION_NOT_FOUND */
function retryTarget({ viewer }: ServiceContext, { sessionId }: PendingRetryInput) {
  requireSessionId(sessionId)
  return { sessionId, visibleProjectId: viewer.projectId, actor: actorOf(viewer) }
}

/** @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY */
function requireChanged({ sessionId }: PendingRetryInput, change: RetryChange | undefined): void {
  if (!change) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  if (change.changed) return
  // If it was pending when the statement started, a concurrent call was first.
  const message = `session ${sessionId} has a retry that was dispatched or cancelled just now`
  throw refusePendingRetry(sessionId, change.phase) ?? new RepriseError('NO_PENDING_RETRY', message)
}

async function decideAnew(
  { viewer, log }: ServiceContext,
  tx: Queryable,
  sessionId: string,
  given: Partial<RetryPolicy>,
): Promise<DecisionRow> {
  const session = await readForDecision(tx, sessionId)
  const changed = overridePolicy(session, given)
  if (typeof changed === 'string') throw argumentError('', changed)
  const { retryPolicy: policy, retryPolicySources: sources } = changed
  const decided: UndecidedSession = { ...session, retryPolicy: policy, maxRetries: policy.maxRetries }
  const decision = decisionOf(decided, policy, `policy changed by ${viewer.name}`, log)
  const before = session.retryPolicy as Partial<Record<string, unknown>>
  const change = {
    given,
    before: Object.fromEntries(Object.keys(given).map((field) => [field, before[field] ?? null])),
  }
  await updateRetryRow(tx, { decision, policy, sources, actor: actorOf(viewer), change })
  return decision
}

/**
 * Builds the new decision. If the announced retry is no longer made, the decision gets the event
 * `session.retry_cancelled`, because its verdict has no event.
 */
function decisionOf(session: UndecidedSession, policy: RetryPolicy, reason: string, log: Logger): DecisionRow {
  const verdict = decideSession(session, log)
  const explanation = `${verdict.explanation}; ${reason}`
  const row = decisionRow(session, verdict)
  const event = policy.emitRetryEvents ? (row.event ?? 'session.retry_cancelled') : null
  const eventData = event && retryEventData(session, verdict, { reason: explanation })
  return { ...row, explanation, event, eventData }
}

function parse(written: unknown, unknown: readonly string[]): Partial<RetryPolicy> {
  const parsed = parseRetryPolicy(written)
  const issues = [
    ...('issues' in parsed ? issuesUnder('policy', parsed.issues) : []),
    ...unknown.map((path) => ({ path, message: 'Unknown field' })),
  ]
  if ('issues' in parsed || issues.length > 0) return refuseInput(issues)
  if (Object.keys(parsed.policy).length === 0) refuseInput([{ path: 'policy', message: 'There is nothing to change.' }])
  return parsed.policy
}

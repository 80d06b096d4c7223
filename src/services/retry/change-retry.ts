import { RepriseError } from '../../domain/errors.ts'
import type { RetryPhase } from '../../domain/session/failure.ts'
import {
  changePendingRetries,
  type LockedSession,
  lockTails,
  updateRetryRow,
} from '../../store/sql/retry/change-retry.sql.ts'
import { newestAttemptOf } from '../session/terminate-session.ts'
import { requireSessionId } from '../session/read-sessions.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf, assertMayChange, assertMayEnd } from '../access/authorize.ts'
import { mergeSlots, overridePolicy } from '../../domain/resubmission.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/stored-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import type { Logger } from '../../observability/log.ts'
import type { Queryable } from '../../store/database.ts'
import { readForDecision, type UndecidedSession } from '../../store/sql/retry/claim-undecided.sql.ts'
import type { DecisionRow } from '../../store/sql/retry/record-decisions.sql.ts'
import { wakeDependents } from '../../store/sql/session/creation-scope.sql.ts'
import { describeGrowth, retryCancelledBy, retryEventData } from '../../domain/retry/explain.ts'
import type { RetryVerdict } from '../../domain/retry/verdict.ts'
import { SLOTS_MAX } from '../../domain/limits.ts'
import { decideSession, decisionRow } from './decide-session.ts'
import { slotAmounts } from '../input/input-fields.ts'
import { argumentError, issuesOf, issuesUnder, refuseInput } from '../input/parse-input.ts'

export const retryDueBy = (name: string) => `made due at once by ${name}`

interface PendingRetryInput {
  /** Any session of the chain. */
  sessionId: string
}

/**
 * Returns undefined if the retry of the newest attempt of a session's chain can be cancelled, changed or made due. An
 * undecided attempt has the phase null.
 */
export function refusePendingRetry(
  sessionId: string,
  tail: { id: string; retryPhase: RetryPhase | null },
): RepriseError | undefined {
  const { retryPhase: phase } = tail
  if (phase === 'SCHEDULED' || phase === 'HELD') return undefined
  const state = phase === null ? 'no retry decision yet' : `a retry that is ${phase}, none that is scheduled or held`
  const newer = tail.id === sessionId ? null : ({ type: 'Session', id: tail.id } as const)
  return new RepriseError('NO_PENDING_RETRY', `${newestAttemptOf(sessionId, tail)} has ${state}`, [], newer)
}

/**
 * Cancels the scheduled or held retry of a chain, which any of its sessions names. The chain ends as CANCELLED and is
 * not retried until somebody resubmits it. Returns the failed session.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function cancelRetry(context: ServiceContext, input: PendingRetryInput): Promise<{ sessionId: string }> {
  const { db, viewer, metrics, wake } = context
  assertMayChange(viewer)
  requireSessionId(input.sessionId)
  await assertMayEnd(context, 'session', input.sessionId)
  const sessionId = await db.transaction(async (tx) => {
    const { id } = await lockPending(tx, context, input)
    const message = retryCancelledBy(viewer.name)
    await changePendingRetries(tx, 'cancel', { sessionIds: [id], actor: actorOf(viewer), message })
    return id
  })
  metrics.retries.cancelled.inc()
  // Other sessions may depend on this chain, which may now have ended without success.
  wake.wake('events', 'schedule-sessions')
  return { sessionId }
}

/**
 * Makes the scheduled or held retry of a chain due now; any of its sessions names it. The same conditions may hold it
 * again. Returns the failed session.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function retryNow(context: ServiceContext, input: PendingRetryInput): Promise<{ sessionId: string }> {
  const { db, viewer, wake } = context
  assertMayChange(viewer)
  requireSessionId(input.sessionId)
  const sessionId = await db.transaction(async (tx) => {
    const { id } = await lockPending(tx, context, input)
    const message = retryDueBy(viewer.name)
    await changePendingRetries(tx, 'now', { sessionIds: [id], actor: actorOf(viewer), message })
    return id
  })
  wake.wake('events', 'dispatch-retries')
  return { sessionId }
}

interface UpdateRetryInput {
  sessionId: string
  /** Fields that replace those of the session's policy. */
  policy?: unknown
  /** Slots that the retry, and all later attempts, get instead of those that they would have; an amount of 0 removes one. */
  resourceSlots?: unknown
}

/**
 * Changes the policy of a chain whose retry is scheduled or held, or the resources of that retry; any of its sessions
 * names it. The failed session is decided again, as if it had failed now under the new policy; that may also end the
 * chain. The child inherits the policy. Returns the failed session.
 * @throws RepriseError VALIDATION_FAILED, SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function updateRetry(context: ServiceContext, input: UpdateRetryInput): Promise<{ sessionId: string }> {
  const { db, viewer, wake, metrics } = context
  assertMayChange(viewer)
  const { sessionId: named, policy: written, resourceSlots: slots, ...unknown } = input
  requireSessionId(named)
  const given = parse(written, slots, Object.keys(unknown))
  const decision = await db.transaction(async (tx) => {
    const { id } = await lockPending(tx, context, input)
    const made = await decideAnew(context, tx, id, given)
    if (made.phase !== 'SCHEDULED') {
      await assertMayEnd({ db: tx, viewer }, 'session', id)
      await wakeDependents(tx, [made.chainId])
    }
    return made
  })
  if (decision.phase === 'EXHAUSTED') metrics.retries.exhausted.inc({ cause: decision.cause! })
  else if (decision.phase !== 'SCHEDULED') metrics.retries.cancelled.inc()
  wake.wake('events', 'dispatch-retries', 'schedule-sessions')
  return { sessionId: decision.sessionId }
}

/**
 * Locks the newest attempt of the chain, whose retry is scheduled or held.
 * @throws RepriseError SESSION_NOT_FOUND, NO_PENDING_RETRY
 */
async function lockPending(
  tx: Queryable,
  { viewer }: ServiceContext,
  { sessionId }: PendingRetryInput,
): Promise<LockedSession> {
  const tail = (await lockTails(tx, [sessionId], viewer.projectId)).get(sessionId.toLowerCase())
  if (tail === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  const refusal = refusePendingRetry(sessionId, tail)
  if (refusal) throw refusal
  return tail
}

async function decideAnew(
  { viewer, log }: ServiceContext,
  tx: Queryable,
  sessionId: string,
  { policy: given, resourceSlots }: RetryUpdate,
): Promise<DecisionRow> {
  const session = await readForDecision(tx, sessionId)
  const changed = overridePolicy(session, given)
  if (typeof changed === 'string') throw argumentError('', changed)
  const { retryPolicy: policy, retryPolicySources: sources } = changed
  const decided: UndecidedSession = { ...session, retryPolicy: policy, maxRetries: policy.maxRetries }
  const slots = { given: { ...session.givenSlots, ...resourceSlots }, changed: resourceSlots !== undefined }
  const words = [...(Object.keys(given).length > 0 ? ['policy'] : []), ...(slots.changed ? ['resources'] : [])]
  const reason = `${words.join(' and ')} changed by ${viewer.name}`
  const decision = decisionOf(decided, policy, { reason, givenSlots: slots.given }, log)
  const before = session.retryPolicy as Partial<Record<string, unknown>>
  const change = {
    given: { ...given, ...(slots.changed && { resourceSlots }) },
    before: {
      ...Object.fromEntries(Object.keys(given).map((field) => [field, before[field] ?? null])),
      ...(slots.changed && { resourceSlots: session.givenSlots }),
    },
  }
  await updateRetryRow(tx, { decision, policy, sources, actor: actorOf(viewer), change })
  return decision
}

/**
 * Builds the new decision. If the announced retry is no longer made, the decision gets the event
 * `session.retry_cancelled`, because its verdict has no event.
 */
function decisionOf(
  session: UndecidedSession,
  policy: RetryPolicy,
  { reason, givenSlots }: { reason: string; givenSlots: Record<string, string> },
  log: Logger,
): DecisionRow {
  const byRule = decideSession(session, log)
  const { verdict, change } = withSlots(session, byRule, givenSlots)
  const explanation = [verdict.explanation, ...(change === '' ? [] : [change]), reason].join('; ')
  const decided = decisionRow(session, verdict)
  const row =
    Object.keys(givenSlots).length === 0 ? decided : { ...decided, details: { ...decided.details, givenSlots } }
  const event = policy.emitRetryEvents ? (row.event ?? 'session.retry_cancelled') : null
  const eventData = event && retryEventData(session, verdict, { reason: explanation })
  return { ...row, explanation, event, eventData }
}

/** Gives a retry the slots that people chose; what changes because of that, as text. */
function withSlots(
  session: UndecidedSession,
  verdict: RetryVerdict,
  givenSlots: Record<string, string>,
): { verdict: RetryVerdict; change: string } {
  if (verdict.phase !== 'SCHEDULED' || Object.keys(givenSlots).length === 0) return { verdict, change: '' }
  const before = verdict.growth ?? { resourceSlots: session.resourceSlots, batchTimeout: session.batchTimeout }
  const growth = { ...before, resourceSlots: mergeSlots(before.resourceSlots, givenSlots) }
  if (Object.keys(growth.resourceSlots).length > SLOTS_MAX)
    throw argumentError('resourceSlots', `it would have more than ${SLOTS_MAX} resource slots`)
  return { verdict: { ...verdict, growth }, change: describeGrowth(before, growth) }
}

interface RetryUpdate {
  policy: Partial<RetryPolicy>
  /** Undefined if no slots are to change. */
  resourceSlots: Record<string, string> | undefined
}

function parse(written: unknown, slots: unknown, unknown: readonly string[]): RetryUpdate {
  const parsed = parseRetryPolicy(written ?? {})
  const amounts = slotAmounts.nullish().safeParse(slots)
  const issues = [
    ...('issues' in parsed ? issuesUnder('policy', parsed.issues) : []),
    ...(amounts.success ? [] : issuesUnder('resourceSlots', issuesOf(amounts.error))),
    ...unknown.map((path) => ({ path, message: 'Unknown field' })),
  ]
  if ('issues' in parsed || !amounts.success || issues.length > 0) return refuseInput(issues)
  const resourceSlots = amounts.data ?? {}
  const isEmpty = Object.keys(parsed.policy).length === 0 && Object.keys(resourceSlots).length === 0
  if (isEmpty) refuseInput([{ path: 'policy', message: 'There is nothing to change.' }])
  return { policy: parsed.policy, resourceSlots: Object.keys(resourceSlots).length === 0 ? undefined : resourceSlots }
}

import { RepriseError } from '../../domain/errors.ts'
import type { RetryPhase } from '../../domain/session/failure.ts'
import {
  cancelPendingRetry,
  lockDecision,
  makeRetryDue,
  type RetryChange,
  updateRetryRow,
} from '../../store/sql/retry/change-retry.sql.ts'
import { readChildIds } from '../../store/sql/session/read-sessions.sql.ts'
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
  const reason = retryCancelledBy(context.viewer.name)
  await requireChanged(context.db, input, await cancelPendingRetry(context.db, { ...target, reason }))
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
  const order = { ...retryTarget(context, input), reason: retryDueBy(context.viewer.name) }
  await requireChanged(context.db, input, await makeRetryDue(context.db, order))
  context.wake.wake('events', 'dispatch-retries')
  return { sessionId: input.sessionId }
}

interface UpdateRetryInput {
  sessionId: string
  /** Fields that replace those of the session's policy. */
  policy?: unknown
  /** Slots that the retry, and all later attempts, get instead of those that they would have; an amount of 0 removes one. */
  resourceSlots?: unknown
}

/**
 * Changes the policy of a chain whose retry is scheduled or held, or the resources of that retry. The failed session is decided again, as if it had
 * failed now under the new policy; that may also end the chain. The child inherits the policy.
 * @throws RepriseError VALIDATION_FAILED, SESSION_NOT_FOUND, NO_PENDING_RETRY, FORBIDDEN
 */
export async function updateRetry(context: ServiceContext, input: UpdateRetryInput): Promise<{ sessionId: string }> {
  const { db, viewer, wake, metrics } = context
  assertMayChange(viewer)
  const { sessionId, policy: written, resourceSlots: slots, ...unknown } = input
  const target = retryTarget(context, input)
  const given = parse(written, slots, Object.keys(unknown))
  const decision = await db.transaction(async (tx) => {
    const phase = await lockDecision(tx, target)
    const pending = phase === 'SCHEDULED' || phase === 'HELD'
    await requireChanged(tx, input, phase === undefined ? undefined : { sessionId, phase, changed: pending })
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
async function requireChanged(
  db: Queryable,
  { sessionId }: PendingRetryInput,
  change: RetryChange | undefined,
): Promise<void> {
  if (!change) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  if (change.changed) return
  // If it was pending when the statement started, a concurrent call was first.
  const message = `session ${sessionId} has a retry that was dispatched or cancelled just now`
  const error = refusePendingRetry(sessionId, change.phase) ?? new RepriseError('NO_PENDING_RETRY', message)
  const childId = (await readChildIds(db, [sessionId])).get(sessionId)
  throw childId === undefined
    ? error
    : new RepriseError(error.code, error.message, [], { type: 'Session', id: childId })
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

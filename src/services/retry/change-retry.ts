import { z } from 'zod'
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
import { mergeSize, overridePolicy, type ResubmissionOverrides } from '../../domain/resubmission.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/stored-policy.ts'
import { type RetryPolicy, SHIPPED_POLICY } from '../../domain/retry/policy/policy.ts'
import { statedPolicy } from '../../domain/retry/policy/resolve-policy.ts'
import type { Logger } from '../../observability/log.ts'
import type { Queryable } from '../../store/database.ts'
import { type GivenSize, readForDecision, type UndecidedSession } from '../../store/sql/retry/claim-undecided.sql.ts'
import type { DecisionRow } from '../../store/sql/retry/record-decisions.sql.ts'
import { wakeDependents } from '../../store/sql/session/creation-scope.sql.ts'
import { childSize } from '../../domain/retry/decide.ts'
import type { Growable } from '../../domain/retry/policy/rules.ts'
import { describeGrowth, retryCancelledBy, retryEventData } from '../../domain/retry/explain.ts'
import type { RetryVerdict } from '../../domain/retry/verdict.ts'
import { SLOTS_MAX } from '../../domain/limits.ts'
import { decideSession, decisionRow } from './decide-session.ts'
import { slotAmounts } from '../input/input-fields.ts'
import { besideOtherFaults, checkGpus, foldGpuChange, gpus as gpusInput } from '../session/session-fields.ts'
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
  /** What its GPUs must be like: missing fields stay as they are, null removes a condition. */
  gpus?: unknown
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
  const { sessionId: named, policy: written, resourceSlots, gpus, ...unknown } = input
  requireSessionId(named)
  const given = parse(written, { resourceSlots, gpus }, Object.keys(unknown))
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
  { policy: given, size }: RetryUpdate,
): Promise<DecisionRow> {
  const session = await readForDecision(tx, sessionId)
  const changed = overridePolicy(session, given)
  if (typeof changed === 'string') throw argumentError('', changed)
  const { retryPolicy: policy, retryPolicySources: sources } = changed
  const decided: UndecidedSession = { ...session, retryPolicy: policy, maxRetries: policy.maxRetries }
  const words = [
    ...(Object.keys(given).length > 0 ? ['policy'] : []),
    ...(Object.keys(size).length > 0 ? ['resources'] : []),
  ]
  const reason = `${words.join(' and ')} changed by ${viewer.name}`
  const decision = decisionOf(decided, policy, { reason, size: mergeChanges(session, size) }, log)
  const before: Partial<Record<string, unknown>> = { ...SHIPPED_POLICY, ...(session.retryPolicy as object) }
  const change = {
    given: { ...given, ...size },
    before: {
      ...Object.fromEntries(Object.keys(given).map((field) => [field, before[field] ?? null])),
      ...(size.resourceSlots && { resourceSlots: session.givenSlots }),
      ...(size.gpus && { gpus: session.givenGpus }),
    },
  }
  const stated = statedPolicy(policy, sources)
  await updateRetryRow(tx, { decision, policy: stated, sources, actor: actorOf(viewer), change })
  return decision
}

/**
 * Builds the new decision. If the announced retry is no longer made, the decision gets the event
 * `session.retry_cancelled`, because its verdict has no event.
 */
function decisionOf(
  session: UndecidedSession,
  policy: RetryPolicy,
  { reason, size }: { reason: string; size: SizeOverrides },
  log: Logger,
): DecisionRow {
  const byRule = decideSession(session, log)
  const { verdict, change } = withSize(session, byRule, size)
  const explanation = [verdict.explanation, ...(change === '' ? [] : [change]), reason].join('; ')
  const decided = decisionRow(session, verdict)
  const stored = {
    ...(size.resourceSlots && { givenSlots: size.resourceSlots }),
    ...(size.gpus && { givenGpus: size.gpus }),
  }
  const row = { ...decided, details: { ...decided.details, ...stored } }
  const event = policy.emitRetryEvents ? (row.event ?? 'session.retry_cancelled') : null
  const eventData = event && retryEventData(session, verdict, { reason: explanation })
  return { ...row, explanation, event, eventData }
}

/** The changes of a retry's resources that people have made since the first decision, and the new one. */
function mergeChanges({ givenSlots, givenGpus }: GivenSize, size: SizeOverrides): SizeOverrides {
  const resourceSlots = { ...givenSlots, ...size.resourceSlots }
  const gpus = { ...givenGpus, ...size.gpus }
  return {
    ...(Object.keys(resourceSlots).length > 0 && { resourceSlots }),
    ...((givenGpus !== null || size.gpus !== undefined) && { gpus }),
  }
}

/** Gives a retry the resources that people chose; what changes because of that, as text. */
function withSize(
  session: UndecidedSession,
  verdict: RetryVerdict,
  size: SizeOverrides,
): { verdict: RetryVerdict; change: string } {
  if (verdict.phase !== 'SCHEDULED' || Object.keys(size).length === 0) return { verdict, change: '' }
  const before = { ...session, hadGpuMemoryBytes: null, ...verdict.growth }
  const after: Growable = { ...before, ...mergeSize(before, size) }
  if (Object.keys(after.resourceSlots).length > SLOTS_MAX)
    throw argumentError('resourceSlots', `it would have more than ${SLOTS_MAX} resource slots`)
  return { verdict: { ...verdict, growth: childSize(after) }, change: describeGrowth(before, after) }
}

type SizeOverrides = Pick<ResubmissionOverrides, 'resourceSlots' | 'gpus'>

interface RetryUpdate {
  policy: Partial<RetryPolicy>
  /** Empty if no resources are to change. */
  size: SizeOverrides
}

const sizeSchema = z
  .object({ resourceSlots: slotAmounts.nullish(), gpus: gpusInput.nullish() })
  .superRefine(checkGpus, { when: besideOtherFaults })

function parse(written: unknown, resources: object, unknown: readonly string[]): RetryUpdate {
  const parsed = parseRetryPolicy(written ?? {})
  const given = sizeSchema.safeParse(resources)
  const issues = [
    ...('issues' in parsed ? issuesUnder('policy', parsed.issues) : []),
    ...(given.success ? [] : issuesOf(given.error)),
    ...unknown.map((path) => ({ path, message: 'Unknown field' })),
  ]
  if ('issues' in parsed || !given.success || issues.length > 0) return refuseInput(issues)
  const { resourceSlots = {}, ...gpus } = foldGpuChange(given.data)
  const size = { ...(Object.keys(resourceSlots).length > 0 && { resourceSlots }), ...gpus }
  const isEmpty = Object.keys(parsed.policy).length === 0 && Object.keys(size).length === 0
  if (isEmpty) refuseInput([{ path: 'policy', message: 'There is nothing to change.' }])
  return { policy: parsed.policy, size }
}

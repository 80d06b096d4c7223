import { overridePolicy } from '../../domain/resubmission/overrides.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/parse-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import type { Logger } from '../../observability/log.ts'
import type { Queryable } from '../../store/database.ts'
import { readForDecision, type UndecidedSession } from '../../store/sql/retry/claim-undecided.sql.ts'
import type { DecisionRow } from '../../store/sql/retry/record-decisions.sql.ts'
import { lockDecision, updateRetryRow } from '../../store/sql/retry/update-retry.sql.ts'
import { wakeDependents } from '../../store/sql/session/dependencies.sql.ts'
import { assertMayChange } from '../access/authorize.ts'
import { retryEventData } from '../../domain/retry/event-data.ts'
import { decideSession, decisionRow } from './decide-session.ts'
import { requireChanged, retryTarget } from './pending-retry.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'
import { argumentError, issuesUnder, refuseInput } from '../input/parse-input.ts'

export interface UpdateRetryInput {
  sessionId: string
  /** Its fields replace those of the session's policy. */
  policy?: unknown
}

/**
 * Changes the policy of a chain whose retry is scheduled or held. The decision about the failed session is made anew,
 * as if it had failed now under the new policy: that may also end the chain. The child inherits the policy.
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
    if (made.phase !== 'SCHEDULED') await wakeDependents(tx, [made.chainId])
    return made
  })
  if (decision.phase === 'EXHAUSTED') metrics.retries.exhausted.inc({ cause: decision.cause! })
  else if (decision.phase !== 'SCHEDULED') metrics.retries.cancelled.inc()
  wake.wake('events', 'dispatch-retries', 'schedule-sessions')
  return { sessionId }
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

/** A retry that was announced and will not be made is cancelled: the decision itself has no event. */
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

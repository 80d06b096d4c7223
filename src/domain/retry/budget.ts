import type { SessionType } from '../session/statuses.ts'
import type { RetryPolicy } from './policy/policy.ts'
import { NO_WISH, type ProgramWish } from './program-wish.ts'
import type { MatchedRule } from './policy/rules.ts'

export interface BudgetedSession {
  retryCount: number
  uncountedRetries: number
  maxRetries: number
  startedAt: Date | null
  epochStartedAt: Date
}

/** The retries that a session may use; only batch sessions are retried, whatever policy they have inherited. */
export function budgetOf(session: { sessionType: SessionType; maxRetries: number }): number {
  return session.sessionType === 'BATCH' ? session.maxRetries : 0
}

export type Budget =
  /** `ordinal`: `retry 2 of 5`. */
  { left: true; counted: boolean; ordinal: string } | { left: false; counted: boolean; reason: string }

/** A counted retry needs budget. An uncounted one is limited only by its own bound, even if the budget is used up. */
export function judgeBudget(
  policy: Pick<RetryPolicy, 'countPreStartFailures' | 'maxUncountedRetries' | 'maxElapsed'>,
  session: BudgetedSession,
  matched: MatchedRule | null,
  dueAt: Date,
  wish: Pick<ProgramWish, 'retry'> = NO_WISH,
): Budget {
  const counted = isCounted(policy, session, matched, wish)
  const [used, max] = counted
    ? [session.retryCount, session.maxRetries]
    : [session.uncountedRetries, policy.maxUncountedRetries]
  const noun = counted ? 'retries' : 'uncounted retries'
  if (used >= max) return { left: false, counted, reason: `${used} of ${max} ${noun} used` }
  if (isTooLate(policy.maxElapsed, session.epochStartedAt, dueAt)) {
    const reason = `the next would start later than ${policy.maxElapsed} s after the first attempt`
    return { left: false, counted, reason }
  }
  return { left: true, counted, ordinal: `${counted ? 'retry' : 'uncounted retry'} ${used + 1} of ${max}` }
}

function isCounted(
  policy: Pick<RetryPolicy, 'countPreStartFailures'>,
  session: BudgetedSession,
  matched: MatchedRule | null,
  wish: Pick<ProgramWish, 'retry'>,
): boolean {
  if (matched?.rule.action === 'RETRY_UNCOUNTED') return false
  // What a program asks for counts where no rule decides.
  if (matched === null && wish.retry === 'uncounted') return false
  return policy.countPreStartFailures || session.startedAt !== null
}

/** Whether a retry that starts at this time would start later than `maxElapsed` (seconds) allows. */
export function isTooLate(maxElapsed: number | null, epochStartedAt: Date, startsAt: Date): boolean {
  return maxElapsed !== null && startsAt.getTime() > epochStartedAt.getTime() + maxElapsed * 1000
}

import { NEVER_RETRIED_CAUSES, type EligibleCause, type FailureCause } from '../session/causes.ts'
import { describeRule } from './explain.ts'
import type { RetryPolicy } from './policy/policy.ts'
import { NO_WISH, type ProgramWish } from './program-wish.ts'
import type { MatchedRule } from './policy/rules.ts'

export type Eligibility =
  | { eligible: true }
  /** `byRule`: a rule decided, not the eligible causes. */
  | { eligible: false; byRule: boolean; reason: string }

/**
 * Checks the causes that are never retried first, then a program that forbids the retry, the matched rule, a program
 * that asks for one, and the eligible causes. A null cause stands for any eligible one.
 */
export function judgeEligibility(
  policy: Pick<RetryPolicy, 'eligibleCauses'>,
  cause: FailureCause | null,
  matched: MatchedRule | null,
  wish: Pick<ProgramWish, 'retry'> = NO_WISH,
): Eligibility {
  if (cause !== null && isNeverRetried(cause)) {
    return { eligible: false, byRule: false, reason: `${cause} is never retried` }
  }
  if (wish.retry === 'no') return { eligible: false, byRule: false, reason: 'its program asks for no retry' }
  if (matched) {
    if (matched.rule.action !== 'FAIL') return { eligible: true }
    return { eligible: false, byRule: true, reason: `matched ${describeRule(matched)}` }
  }
  if (wish.retry !== null) return { eligible: true }
  const { eligibleCauses } = policy
  const eligible = cause === null ? eligibleCauses.length > 0 : eligibleCauses.includes(cause as EligibleCause)
  if (eligible) return { eligible: true }
  const reason = cause === null ? 'no cause is eligible' : `${cause} is not among the eligible causes`
  return { eligible: false, byRule: false, reason }
}

function isNeverRetried(cause: FailureCause): boolean {
  return (NEVER_RETRIED_CAUSES as readonly FailureCause[]).includes(cause)
}

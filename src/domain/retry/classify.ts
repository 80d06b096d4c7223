import {
  causeOf,
  type EligibleCause,
  type FailureCause,
  type FailureError,
  NEVER_RETRIED_CAUSES,
} from '../session/failure.ts'
import { readProgramVerdict, type VerdictRetry } from '../session/program-verdict.ts'
import { describeCause, describeRule } from './explain.ts'
import type { RetryPolicy } from './policy/policy.ts'
import type { MatchedRule } from './policy/rules.ts'

/** The part of a finished session that its cause depends on. */
export interface FinishedSession {
  status: 'TERMINATED' | 'ERROR' | 'CANCELLED'
  /** The person who ended the session; null if nobody did. */
  terminatedBy: string | null
}

export type Classification =
  | { kind: 'cause'; cause: FailureCause; error: FailureError | null }
  /** An internal error: the session was ended without a readable reason. */
  | { kind: 'malformed'; message: string }

/** Classifies why a session did not succeed. Total: every input has an answer. */
export function classifyFailure(session: FinishedSession, statusData: unknown): Classification {
  const error = readEnvelope(statusData)
  if (session.terminatedBy !== null) {
    return { kind: 'cause', cause: 'USER_CANCELLED', error: typeof error === 'string' ? null : error }
  }
  if (typeof error === 'string') {
    return { kind: 'malformed', message: `${session.status} without a readable reason: ${error}` }
  }
  return { kind: 'cause', cause: causeOf(error.name), error }
}

/** Reads the error in the envelope, or describes what is wrong with it. */
function readEnvelope(statusData: unknown): FailureError | string {
  if (!isRecord(statusData)) return 'status data is missing'
  const { error } = statusData
  if (!isRecord(error)) return 'status data has no error'
  const { name, message, agentId = null, exitCode = null } = error
  if (typeof name !== 'string' || name === '') return 'the error has no name'
  if (typeof message !== 'string') return 'the error has no message'
  if (agentId !== null && typeof agentId !== 'string') return "the error's agentId is not text"
  if (exitCode !== null && !Number.isInteger(exitCode)) return "the error's exitCode is not an integer"
  const verdict = readProgramVerdict(error['verdict'])
  return {
    name,
    message,
    ...(agentId === null ? {} : { agentId }),
    ...(exitCode === null ? {} : { exitCode: exitCode as number }),
    ...(verdict === null ? {} : { verdict }),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Eligibility =
  | { eligible: true }
  /** `byRule` means that a rule decided, not the eligible causes. */
  | { eligible: false; byRule: boolean; reason: string }

/**
 * Judges whether a failure may be retried. The order of checks: causes that are never retried, a program that forbids
 * the retry, the matched rule, a program that asks for a retry, the eligible causes. A null cause means any eligible
 * cause.
 */
export function judgeEligibility(
  policy: Pick<RetryPolicy, 'eligibleCauses'>,
  cause: FailureCause | null,
  matched: MatchedRule | null,
  wish: Pick<ProgramWish, 'retry'> = NO_WISH,
): Eligibility {
  if (cause !== null && isNeverRetried(cause)) {
    return { eligible: false, byRule: false, reason: `${describeCause(cause)} is never retried` }
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
  const reason = cause === null ? 'no cause is eligible' : `${describeCause(cause)} is not among the eligible causes`
  return { eligible: false, byRule: false, reason }
}

function isNeverRetried(cause: FailureCause): boolean {
  return (NEVER_RETRIED_CAUSES as readonly FailureCause[]).includes(cause)
}

/** The requests in a program's verdict, as far as the policy trusts it. */
export interface ProgramWish {
  retry: VerdictRetry | null
  /** Replaces the base of the formula, and the delay of a rule. */
  delaySeconds: number | null
  /** Text for people; empty if there is none. */
  note: string
}

export const NO_WISH: ProgramWish = { retry: null, delaySeconds: null, note: '' }

export function programWish(policy: Pick<RetryPolicy, 'trustVerdicts'>, error: FailureError | null): ProgramWish {
  const verdict = error?.verdict
  if (verdict === undefined) return NO_WISH
  if (verdict.fault !== null) return { ...NO_WISH, note: `its verdict file cannot be used: ${verdict.fault}` }
  const { retry, delaySeconds } = verdict
  if (retry === null && delaySeconds === null) return NO_WISH
  const delay = delaySeconds === null ? '' : ` after ${delaySeconds} s`
  const asks = `its program asks for ${retry === null ? 'a retry' : WORDS[retry]}${retry === 'no' ? '' : delay}`
  if (!policy.trustVerdicts) return { ...NO_WISH, note: `${asks}, which trustVerdicts ignores` }
  return { retry, delaySeconds: retry === 'no' ? null : delaySeconds, note: asks }
}

const WORDS: Readonly<Record<VerdictRetry, string>> = {
  no: 'no retry',
  yes: 'a retry',
  uncounted: 'an uncounted retry',
}

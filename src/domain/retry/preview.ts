import type { FailureCause } from '../session/failure.ts'
import { computeDelay, delayBounds } from './delay.ts'
import { judgeEligibility } from './classify.ts'
import { describeRule } from './explain.ts'
import { applyGrowth, firstMatch, type Growable, type MatchedRule } from './policy/rules.ts'
import type { RetryPolicy } from './policy/policy.ts'

export interface PreviewInput {
  /** The resolved policy. */
  policy: RetryPolicy
  /** Null means any cause. Together with an exit code other than 0, null means KERNEL_NONZERO_EXIT. */
  cause: FailureCause | null
  exitCode: number | null
  /** The session whose further retries are planned; null plans from a first attempt. */
  session: PreviewedSession | null
}

export interface PreviewedSession extends Growable {
  id: string
  retryCount: number
  uncountedRetries: number
  statusReason: string | null
  /** The delay before this session; null if the session is not a retry. */
  delayBeforeMs: number | null
}

export interface RetryPreview {
  eligible: boolean
  explanation: string
  schedule: PlannedRetry[]
}

/**
 * A planned retry. Its delay lies between `earliestSeconds` and `latestSeconds`; `elapsedSeconds` is the sum of delays
 * only.
 */
export interface PlannedRetry {
  /** Number within the budget, from 1. */
  retry: number
  /** Exact if the jitter is already known; otherwise without jitter. */
  delaySeconds: number
  earliestSeconds: number
  latestSeconds: number
  elapsedSeconds: number
  resourceSlots: Record<string, string>
  /** Seconds; null if there is no timeout, or no session whose timeout could grow. */
  batchTimeout: number | null
}

/** Plans the retries that would follow if each attempt failed in the same way. */
export function previewRetries(input: PreviewInput): RetryPreview {
  const { policy, exitCode } = input
  if (input.cause === null && exitCode === 0) return refused('exit code 0 is a success')
  const cause = input.cause ?? (exitCode === null ? null : 'KERNEL_NONZERO_EXIT')
  const reasons = input.session?.statusReason ? [input.session.statusReason] : []
  const matched = firstMatch(policy.rules, { cause, exitCode, reasons })
  const eligibility = judgeEligibility(policy, cause, matched)
  if (!eligibility.eligible) return refused(eligibility.reason)
  const counted = matched?.rule.action !== 'RETRY_UNCOUNTED'
  if (policy.maxRetries === 0) return refused('maxRetries is 0')
  const schedule = plan(input, matched, counted)
  return { eligible: schedule.length > 0, explanation: explain(input, matched, counted, schedule.length), schedule }
}

function plan(input: PreviewInput, matched: MatchedRule | null, counted: boolean): PlannedRetry[] {
  const { policy, session } = input
  const schedule: PlannedRetry[] = []
  const max = counted ? policy.maxRetries : policy.maxUncountedRetries
  let elapsedMs = 0
  let delayBeforeMs = session?.delayBeforeMs ?? null
  let size: Growable = session ?? { resourceSlots: {}, batchTimeout: null }
  for (let used = usedOf(session, counted); used < max; used++) {
    const retryCount = counted ? used : (session?.retryCount ?? 0)
    const bounds = delayBounds(policy, retryCount, { baseSeconds: matched?.rule.delay, delayBeforeMs })
    delayBeforeMs = bounds.latestMs
    // Later attempts have no id yet, so their jitter is unknown.
    const known = session && schedule.length === 0 && policy.jitter === 'DETERMINISTIC' ? session.id : null
    // Full jitter reduces the base, so the upper bound is the delay without jitter.
    const planned = policy.jitter === 'FULL' ? bounds.latestMs : bounds.earliestMs
    const delayMs = known === null ? planned : exactDelayMs(policy, known, retryCount, matched)
    elapsedMs += delayMs
    if (policy.maxElapsed !== null && elapsedMs > policy.maxElapsed * 1000) break
    if (matched) size = applyGrowth(size, matched.rule)
    schedule.push({
      retry: used + 1,
      delaySeconds: delayMs / 1000,
      earliestSeconds: bounds.earliestMs / 1000,
      latestSeconds: bounds.latestMs / 1000,
      elapsedSeconds: elapsedMs / 1000,
      resourceSlots: { ...size.resourceSlots },
      batchTimeout: size.batchTimeout,
    })
  }
  return schedule
}

function exactDelayMs(policy: RetryPolicy, sessionId: string, retryCount: number, matched: MatchedRule | null): number {
  return computeDelay({ policy, sessionId, retryCount, random: 0, baseSeconds: matched?.rule.delay }).delayMs
}

function usedOf(session: PreviewedSession | null, counted: boolean): number {
  return (counted ? session?.retryCount : session?.uncountedRetries) ?? 0
}

function explain(input: PreviewInput, matched: MatchedRule | null, counted: boolean, planned: number): string {
  const noun = `${counted ? '' : 'uncounted '}${planned === 1 ? 'retry' : 'retries'}`
  const why = matched ? `by ${describeRule(matched)}` : 'by the eligible causes'
  if (planned > 0) return `${planned} ${noun} ${why}`
  const { policy, session } = input
  const max = counted ? policy.maxRetries : policy.maxUncountedRetries
  if (usedOf(session, counted) >= max) return `no retry: the budget of ${max} ${noun} is used up`
  return `no retry: the first would start later than ${policy.maxElapsed} s after the first attempt`
}

function refused(reason: string): RetryPreview {
  return { eligible: false, explanation: `no retry: ${reason}`, schedule: [] }
}

import { causeOf, type FailureCause } from '../session/failure.ts'
import { computeDelay, delayBounds } from './delay.ts'
import { judgeEligibility } from './classify.ts'
import { childSize, type DecidedSession, decideRetry } from './decide.ts'
import type { ChildSize, RetryVerdict } from './verdict.ts'
import { describeRule } from './explain.ts'
import { applyGrowth, firstMatch, type Growable, type GrowthCause, type MatchedRule } from './policy/rules.ts'
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
  /** The name of its failure, such as `task-timeout`; null if it has not failed. */
  failureName: string | null
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
  /** What each of its GPUs must have; null if any amount will do, or if no session is given. */
  gpuMemoryBytes: number | null
}

/** Plans the retries that would follow if each attempt failed in the same way. */
export function previewRetries(input: PreviewInput): RetryPreview {
  const { policy, exitCode } = input
  if (input.cause === null && exitCode === 0) return refused('exit code 0 is a success')
  const cause = input.cause ?? (exitCode === null ? null : 'KERNEL_NONZERO_EXIT')
  const failed = { name: assumedName(input), exitCode }
  const reasons = [input.session?.statusReason, failed.name].filter((reason) => reason != null)
  const matched = firstMatch(policy.rules, { cause, exitCode, reasons })
  const eligibility = judgeEligibility(policy, cause, matched)
  if (!eligibility.eligible) return refused(eligibility.reason)
  const counted = matched?.rule.action !== 'RETRY_UNCOUNTED'
  if (policy.maxRetries === 0) return refused('maxRetries is 0')
  const schedule = plan(input, { matched, counted, failed })
  return { eligible: schedule.length > 0, explanation: explain(input, matched, counted, schedule.length), schedule }
}

/** The name of the session's failure, unless another failure is assumed. */
function assumedName({ cause, exitCode, session }: PreviewInput): string | null {
  const name = session?.failureName ?? null
  if (name === null || exitCode !== null) return null
  return cause === null || causeOf(name) === cause ? name : null
}

const NO_SESSION: Growable = {
  resourceSlots: {},
  batchTimeout: null,
  gpuNeed: null,
  hadGpuMemoryBytes: null,
  peakMemoryBytes: null,
}

function plan(
  input: PreviewInput,
  { matched, counted, failed }: { matched: MatchedRule | null; counted: boolean; failed: GrowthCause },
): PlannedRetry[] {
  const { policy, session } = input
  const schedule: PlannedRetry[] = []
  const max = counted ? policy.maxRetries : policy.maxUncountedRetries
  let elapsedMs = 0
  let delayBeforeMs = session?.delayBeforeMs ?? null
  let size: Growable = session ?? NO_SESSION
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
    // The peaks of later attempts are not known yet.
    if (matched) size = { ...applyGrowth(size, matched.rule, failed), peakMemoryBytes: null }
    schedule.push({
      retry: used + 1,
      delaySeconds: delayMs / 1000,
      earliestSeconds: bounds.earliestMs / 1000,
      latestSeconds: bounds.latestMs / 1000,
      elapsedSeconds: elapsedMs / 1000,
      resourceSlots: { ...size.resourceSlots },
      batchTimeout: size.batchTimeout,
      gpuMemoryBytes: size.gpuNeed?.memoryBytes ?? null,
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
  const { policy, session } = input
  const hasTable = policy.delays !== null && matched?.rule.delay === undefined
  if (planned > 0) return `${planned} ${noun} ${why}${hasTable ? ', after the delays of the table' : ''}`
  const max = counted ? policy.maxRetries : policy.maxUncountedRetries
  if (usedOf(session, counted) >= max) return `no retry: the budget of ${max} ${noun} is used up`
  return `no retry: the first would start later than ${policy.maxElapsed} s after the first attempt`
}

function refused(reason: string): RetryPreview {
  return { eligible: false, explanation: `no retry: ${reason}`, schedule: [] }
}

/** The decision that a policy would have made about a finished session. */
export interface TriedSession {
  phase: RetryVerdict['phase']
  cause: FailureCause | null
  matchedRule: number | null
  counted: boolean
  explanation: string
  delaySeconds: number | null
  /** The size of the retry; null if there is none. */
  child: ChildSize | null
}

/** Tries a policy on a finished session: decides as at its end, with random jitter in the middle of its range. */
export function trySession(session: DecidedSession, policy: RetryPolicy): TriedSession {
  const as = { ...session, maxRetries: policy.maxRetries }
  const decided = decideRetry({ session: as, policy, now: session.terminatedAt, random: 0.5 })
  const { phase, cause, matchedRule, counted, explanation, delayMs, growth } = decided
  return {
    phase,
    cause,
    matchedRule,
    counted,
    explanation,
    delaySeconds: delayMs === null ? null : delayMs / 1000,
    child: phase === 'SCHEDULED' ? (growth ?? childSize(session)) : null,
  }
}

/** The number of sessions about which a policy would have decided alike. */
export interface TriedCount {
  phase: RetryVerdict['phase']
  counted: boolean
  /** Null if no rule decided. */
  matchedRule: number | null
  count: number
}

/** Counts sessions by what would have been decided, the most frequent decision first. */
export function countTried(tried: readonly Omit<TriedCount, 'count'>[]): TriedCount[] {
  const alike = Map.groupBy(tried, ({ phase, counted, matchedRule }) => `${phase} ${counted} ${matchedRule}`)
  return [...alike.values()]
    .map(([first, ...others]) => {
      const { phase, counted, matchedRule } = first!
      return { phase, counted, matchedRule, count: 1 + others.length }
    })
    .toSorted((a, b) => b.count - a.count)
}

import { classifyFailure } from '../../retry/classify.ts'
import { childSize, type DecidedSession, decideUnder } from '../../retry/decide.ts'
import { type RetryPolicy, SHIPPED_POLICY } from '../../retry/policy/policy.ts'
import type { ChildSize, RetryVerdict } from '../../retry/verdict.ts'
import type { FailureCause, RetryPhase } from '../../session/failure.ts'
import { type FailedTry, isTransient, type RetryKind, sinceBucket } from './comparable-failures.ts'
import { compareSizes } from './compare-sizes.ts'

/**
 * Replays finished chains under another policy: each recorded attempt is decided again, with the clock and the counters
 * that the chain would then have had. The replay follows the record as long as the record tells what would have
 * happened. Places where a retry runs, and the policy's fields that act while an attempt runs, are taken as recorded.
 */

/** An attempt as it was recorded, with the decision about it. */
export interface RecordedAttempt extends DecidedSession {
  epoch: number
  createdAt: Date
  /** CPUs of all its kernels, in thousandths. */
  milliCpus: number
  retryPolicy: unknown
  /** Null if nothing was decided about it. */
  decision: RecordedDecision | null
}

export interface RecordedDecision {
  decidedAt: Date
  phase: RetryPhase
  baseMs: number | null
  delayMs: number | null
  growth: ChildSize | null
}

/** A finished chain with all its attempts, oldest first. */
export interface RecordedChain {
  chainId: string
  name: string
  projectName: string
  /** Whether a person cancelled it. */
  cancelled: boolean
  attempts: readonly RecordedAttempt[]
}

/** Why the record does not tell what would have happened. */
export const UNKNOWN_REASONS = ['NO_COMPARABLE', 'OTHER_SIZE', 'OTHER_TIME', 'TOO_LONG'] as const
export type UnknownReason = (typeof UNKNOWN_REASONS)[number]

/** Running time times CPUs, in thousandths of a CPU times milliseconds: exact, so that sums do not depend on the order. */
export type Work = bigint

/** What a policy would have made of a chain, compared with the record. */
export type Fate =
  /** It would have ended alike, this much later. */
  | { kind: 'SAME'; laterMs: number }
  | { kind: 'EARLIER'; attempts: number; work: Work; sooner: number; lost: boolean }
  /**
   * It would have had up to so many more attempts. `retries` are those after the end of the record, whose outcomes are
   * not known; without any, it is known that the others would have changed nothing.
   */
  | { kind: 'LONGER'; attempts: number; work: Work; retries: RetryKind[] }
  | { kind: 'UNKNOWN'; why: UnknownReason }

/** The first epoch that would have gone otherwise counts: what people did after it may not have happened. */
export function replayChain(chain: RecordedChain, policyOf: (first: RecordedAttempt) => RetryPolicy): Fate {
  let laterMs = 0
  for (const attempts of epochsOf(chain)) {
    const isLast = attempts.at(-1) === chain.attempts.at(-1)
    const fate = replayEpoch(attempts, policyOf(attempts[0]!), isLast && chain.cancelled)
    if (fate.kind !== 'SAME') return fate
    laterMs += fate.laterMs
  }
  return { kind: 'SAME', laterMs }
}

export function epochsOf({ attempts }: Pick<RecordedChain, 'attempts'>): RecordedAttempt[][] {
  return [...Map.groupBy(attempts, ({ epoch }) => epoch).values()]
}

/** Consecutive recorded attempts that one outage has failed: from index `from` to index `to`. */
interface Outage {
  from: number
  to: number
  /** When its first failure would have been. */
  startMs: number
}

/** Where a chain is under the policy. */
interface Course {
  /** The recorded attempt whose facts hold for the present one. */
  at: number
  tries: number
  retryCount: number
  uncountedRetries: number
  delayBeforeMs: number | null
  /** How much later than recorded the present attempt is. */
  shiftMs: number
  /** Null: as recorded. */
  size: ChildSize | null
  work: Work
  outage: Outage | null
  /** Whether it is between the last failure of an outage and the first attempt after it. */
  inGap: boolean
}

function replayEpoch(attempts: readonly RecordedAttempt[], policy: RetryPolicy, cancelled: boolean): Fate {
  const [first] = attempts
  const course: Course = {
    at: 0,
    tries: 1,
    retryCount: 0,
    uncountedRetries: 0,
    delayBeforeMs: null,
    shiftMs: 0,
    size: null,
    work: workOf(first!),
    outage: null,
    inGap: false,
  }
  for (;;) {
    const attempt = attempts[course.at]!
    if (attempt.result === 'SUCCESS') return compare(attempts, course)
    const decided = decideAt(attempt, course, policy)
    if (decided.phase !== 'SCHEDULED') return course.inGap ? unknown('OTHER_TIME') : compare(attempts, course)
    const delayMs = delayOf(decided, attempt, policy)
    const next = attempts[course.at + 1]
    // Its retry was cancelled, or it was cancelled before its retry was decided.
    if (next === undefined && (cancelled || attempt.decision?.phase === 'CANCELLED')) return compare(attempts, course)
    enterOutage(attempts, course)
    const size = sizeAfter(decided, attempt, course)
    const move = moveOf(attempts, course, delayMs)
    if (move === 'BEYOND') return beyond(attempts, course, policy, decided)
    const target = attempts[move.to]!
    if (size !== null && !sizeTells(size, target)) return unknown('OTHER_SIZE')
    course.tries += 1
    if (decided.counted) course.retryCount += 1
    else course.uncountedRetries += 1
    course.delayBeforeMs = delayMs
    course.shiftMs = move.createdMs - target.createdAt.getTime()
    course.size = size
    course.work += workOf(target)
    course.inGap = move.inGap
    course.at = move.to
  }
}

function unknown(why: UnknownReason): Fate {
  return { kind: 'UNKNOWN', why }
}

function decideAt(attempt: RecordedAttempt, course: Course, policy: RetryPolicy): RetryVerdict {
  const { retryCount, uncountedRetries, delayBeforeMs, size } = course
  const changed = { retryCount, uncountedRetries, delayBeforeMs, maxRetries: policy.maxRetries }
  const session = { ...attempt, ...changed, ...(size && sized(attempt, size)) }
  return decideUnder({ session, policy, now: new Date(decidedMs(attempt) + course.shiftMs), random: MIDDLE })
}

/** Random jitter is taken in the middle of its range. */
const MIDDLE = 0.5

function sized(attempt: RecordedAttempt, size: ChildSize): Partial<DecidedSession> {
  const { resourceSlots, batchTimeout, gpuNeed } = size
  return { resourceSlots, batchTimeout, gpuNeed: gpuNeed === undefined ? attempt.gpuNeed : gpuNeed }
}

function decidedMs({ decision, terminatedAt }: RecordedAttempt): number {
  return (decision?.decidedAt ?? terminatedAt).getTime()
}

/** A jitter that would have been drawn from the same range is taken as it was drawn. */
function delayOf(decided: RetryVerdict, { decision, retryPolicy }: RecordedAttempt, policy: RetryPolicy): number {
  const drawn = policy.jitter !== 'NONE' && policy.jitter !== 'DETERMINISTIC'
  if (!drawn || decision?.delayMs == null || decision.baseMs !== decided.baseMs) return decided.delayMs!
  const own = { ...SHIPPED_POLICY, ...(retryPolicy as Partial<RetryPolicy> | null) }
  const alike = (['jitter', 'jitterRatio', 'maxRetryDelay'] as const).every((field) => own[field] === policy[field])
  return alike ? decision.delayMs : decided.delayMs!
}

export function workOf({ startedAt, terminatedAt, milliCpus }: RecordedAttempt): Work {
  const ranMs = startedAt === null ? 0 : Math.max(0, terminatedAt.getTime() - startedAt.getTime())
  return BigInt(milliCpus) * BigInt(ranMs)
}

/** Compares a course that has ended with the record. */
function compare(attempts: readonly RecordedAttempt[], course: Course): Fate {
  const last = attempts.at(-1)!
  const lost = last.result === 'SUCCESS' && attempts[course.at] !== last
  const recorded = attempts.reduce((sum, attempt) => sum + workOf(attempt), 0n)
  const endMs = decidedMs(attempts[course.at]!) + course.shiftMs
  const saved = { attempts: attempts.length - course.tries, work: recorded - course.work }
  if (lost || saved.attempts > 0) return { kind: 'EARLIER', ...saved, sooner: decidedMs(last) - endMs, lost }
  if (saved.attempts === 0) return { kind: 'SAME', laterMs: endMs - decidedMs(last) }
  return { kind: 'LONGER', attempts: -saved.attempts, work: -saved.work, retries: [] }
}

/** The size of the retry; null if it is the recorded one. */
function sizeAfter(decided: RetryVerdict, attempt: RecordedAttempt, { size }: Course): ChildSize | null {
  if (size === null && compareSizes(decided.growth, attempt.decision?.growth ?? null) === 0) return null
  return decided.growth ?? size ?? childSize(attempt)
}

/** Whether the outcome of the recorded attempt is that of one of this size. */
function sizeTells(size: ChildSize, recorded: RecordedAttempt): boolean {
  const order = compareSizes(size, childSize(recorded))
  if (order === 0) return true
  if (recorded.result === 'SUCCESS') return order === 1
  return isAboutSize(failedTry(recorded)) ? order === -1 : true
}

function isAboutSize({ cause, failure }: Pick<FailedTry, 'cause' | 'failure'>): boolean {
  return cause === 'OOM_KILLED' || failure === 'task-timeout' || failure === 'gpu-memory'
}

export function failedTry(attempt: RecordedAttempt): FailedTry {
  const classified = classifyFailure(attempt, attempt.statusData)
  const error = classified.kind === 'cause' ? classified.error : null
  const cause: FailureCause | null = classified.kind === 'cause' ? classified.cause : null
  return { cause, failure: error?.name ?? null, exitCode: attempt.exitCode ?? error?.exitCode ?? null }
}

function enterOutage(attempts: readonly RecordedAttempt[], course: Course): void {
  const { at, outage } = course
  if (outage !== null && at <= outage.to) return
  course.outage = null
  const failed = failedTry(attempts[at]!)
  if (!isTransient(failed.cause)) return
  const to = outageEnd(attempts, at)
  course.outage = { from: at, to, startMs: attempts[at]!.terminatedAt.getTime() + course.shiftMs }
}

/** The index of the last attempt that failed, one after the other from `from` on, with the same transient cause. */
export function outageEnd(attempts: readonly RecordedAttempt[], from: number): number {
  const { cause } = failedTry(attempts[from]!)
  let to = from
  while (to + 1 < attempts.length && failsWith(attempts[to + 1]!, cause)) to += 1
  return to
}

function failsWith(attempt: RecordedAttempt, cause: FailureCause | null): boolean {
  return attempt.result !== 'SUCCESS' && failedTry(attempt).cause === cause
}

interface Move {
  to: number
  /** When the retry would have been created. */
  createdMs: number
  inGap: boolean
}

/**
 * The recorded attempt that tells how the retry would have ended; BEYOND if none does. In an outage this depends on the
 * time since its first failure: it lasted at least until the last recorded attempt that failed, and was over at the
 * first that did not. A retry between them is taken to fail.
 */
function moveOf(attempts: readonly RecordedAttempt[], course: Course, delayMs: number): Move | 'BEYOND' {
  const { at, outage } = course
  const createdMs = createdAfter(attempts, course, delayMs)
  const isLast = at === attempts.length - 1
  if (outage === null) return isLast ? 'BEYOND' : { to: at + 1, createdMs, inGap: false }
  const since = createdMs - outage.startMs
  const firstMs = attempts[outage.from]!.terminatedAt.getTime()
  const sinceOf = (index: number) => attempts[index]!.createdAt.getTime() - firstMs
  if (!isLast && !course.inGap && isAbout(since, sinceOf(at + 1))) return { to: at + 1, createdMs, inGap: false }
  for (let to = outage.from + 1; to <= outage.to; to++) {
    if (sinceOf(to) >= since) return { to, createdMs, inGap: false }
  }
  const after = outage.to + 1
  if (after >= attempts.length) return 'BEYOND'
  if (since >= sinceOf(after) || isAbout(since, sinceOf(after))) return { to: after, createdMs, inGap: false }
  return { to: outage.to, createdMs, inGap: true }
}

/** A retry that was recorded keeps the time for which it was held, or that a person saved it. */
function createdAfter(attempts: readonly RecordedAttempt[], course: Course, delayMs: number): number {
  const attempt = attempts[course.at]!
  const next = attempts[course.at + 1]
  const recordedMs = attempt.decision?.delayMs ?? null
  if (next === undefined || recordedMs === null || course.inGap) return decidedMs(attempt) + course.shiftMs + delayMs
  return next.createdAt.getTime() + course.shiftMs + delayMs - recordedMs
}

/** A retry this close to a recorded one ends as that one did: in milliseconds, or in parts of the time. */
const NEAR_MS = 1_000
const NEAR_SHARE = 0.1

function isAbout(ms: number, recordedMs: number): boolean {
  return Math.abs(ms - recordedMs) <= Math.max(NEAR_MS, recordedMs * NEAR_SHARE)
}

/** The retries after the end of the record, if each failed as its last attempt did. */
function beyond(attempts: readonly RecordedAttempt[], course: Course, policy: RetryPolicy, first: RetryVerdict): Fate {
  const last = attempts[course.at]!
  const failed = failedTry(last)
  const lastedMs = decidedMs(last) - last.createdAt.getTime()
  const retries: RetryKind[] = []
  const here = { ...course }
  let decided = first
  while (decided.phase === 'SCHEDULED') {
    const delayMs = delayOf(decided, last, policy)
    const createdMs = decidedMs(last) + here.shiftMs + delayMs
    retries.push({
      ...failed,
      grew: decided.growth !== null,
      when: here.outage === null ? here.tries : sinceBucket(createdMs - here.outage.startMs),
    })
    here.tries += 1
    if (decided.counted) here.retryCount += 1
    else here.uncountedRetries += 1
    here.delayBeforeMs = delayMs
    here.shiftMs += delayMs + lastedMs
    here.size = decided.growth ?? here.size
    decided = decideAt(last, here, policy)
  }
  const recorded = attempts.reduce((sum, attempt) => sum + workOf(attempt), 0n)
  const work = course.work - recorded + BigInt(retries.length) * workOf(last)
  return { kind: 'LONGER', attempts: here.tries - attempts.length, work, retries }
}

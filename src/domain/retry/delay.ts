import { createHash } from 'node:crypto'
import { RETRY_DELAY_CEILING_MS } from '../limits.ts'
import { delayCeilingMs, type RetryPolicy } from './policy/policy.ts'

export type DelayPolicy = Pick<
  RetryPolicy,
  'delays' | 'retryDelay' | 'backoff' | 'backoffMultiplier' | 'maxRetryDelay' | 'jitter' | 'jitterRatio'
>

export interface DelayInput {
  policy: DelayPolicy
  /** The failed session's id. */
  sessionId: string
  /** The failed session's retry count: 0 at the first failure. */
  retryCount: number
  /** In [0, 1); used by RANDOM, FULL and DECORRELATED. */
  random: number
  /** A rule's delay, which replaces the formula's base. */
  baseSeconds?: number
  /** The delay before the failed session, used by DECORRELATED; null or missing if it was no retry. */
  delayBeforeMs?: number | null
}

/** A delay in whole milliseconds: `delayMs = min(baseMs + jitterMs, ceilingMs)`. With FULL the jitter is negative. */
export interface Delay {
  baseMs: number
  jitterMs: number
  delayMs: number
  ceilingMs: number
  /**
   * The range from which FULL and DECORRELATED draw the whole delay, both ends inclusive; null for the other jitters.
   */
  drawn: Range | null
}

interface Range {
  fromMs: number
  toMs: number
}

export function computeDelay(input: DelayInput): Delay {
  const { policy, retryCount } = input
  const ceilingMs = ceilingOf(policy, input.baseSeconds)
  const baseMs = baseDelayMs(policy, retryCount, input.baseSeconds)
  const drawn = drawnRange(policy, { baseMs, ceilingMs, delayBeforeMs: input.delayBeforeMs ?? null })
  if (drawn) {
    const delayMs = drawn.fromMs + Math.floor(input.random * (drawn.toMs - drawn.fromMs + 1))
    const cutBaseMs = Math.min(baseMs, ceilingMs)
    return { baseMs: cutBaseMs, jitterMs: delayMs - cutBaseMs, delayMs, ceilingMs, drawn }
  }
  const jitterMs = jitter(policy, baseMs, input)
  return { baseMs, jitterMs, delayMs: Math.min(baseMs + jitterMs, ceilingMs), ceilingMs, drawn }
}

/** Bounds of the delay under any random value; both are inclusive. */
export function delayBounds(
  policy: DelayPolicy,
  retryCount: number,
  { baseSeconds, delayBeforeMs = null }: Pick<DelayInput, 'baseSeconds' | 'delayBeforeMs'> = {},
): { earliestMs: number; latestMs: number } {
  const ceilingMs = ceilingOf(policy, baseSeconds)
  const baseMs = baseDelayMs(policy, retryCount, baseSeconds)
  const drawn = drawnRange(policy, { baseMs, ceilingMs, delayBeforeMs })
  if (drawn) return { earliestMs: drawn.fromMs, latestMs: drawn.toMs }
  const spanMs = policy.jitter === 'NONE' ? 0 : jitterSpanMs(policy, baseMs)
  return { earliestMs: Math.min(baseMs, ceilingMs), latestMs: Math.min(baseMs + spanMs, ceilingMs) }
}

/**
 * Computes the range from which a delay is drawn. The ceiling cuts the range, not the drawn delay, so that retries at
 * the ceiling are spread as well. Decorrelated delays grow by themselves, with every backoff.
 */
function drawnRange(
  policy: DelayPolicy,
  { baseMs, ceilingMs, delayBeforeMs }: { baseMs: number; ceilingMs: number; delayBeforeMs: number | null },
): Range | null {
  const fromMs = Math.min(baseMs, ceilingMs)
  if (policy.jitter === 'FULL') return { fromMs: 0, toMs: fromMs }
  if (policy.jitter !== 'DECORRELATED') return null
  return { fromMs, toMs: Math.min(Math.max(fromMs, 3 * (delayBeforeMs ?? fromMs)), ceilingMs) }
}

/** The position in a table of delays, from 0. */
export function tableIndex(delays: readonly number[], retryCount: number): number {
  return Math.min(retryCount, delays.length - 1)
}

/** `maxRetryDelay` limits the formula and the delay of a rule; a table is limited by the hard ceiling only. */
function ceilingOf(policy: DelayPolicy, baseSeconds: number | undefined): number {
  return policy.delays !== null && baseSeconds === undefined ? RETRY_DELAY_CEILING_MS : delayCeilingMs(policy)
}

/**
 * Computes the base delay, rounded to the nearest millisecond, so that 1.001 s is 1001 ms in spite of floats. It never
 * exceeds the hard ceiling; this includes a fixed base, whose delay would be cut to the ceiling anyway.
 */
function baseDelayMs(policy: DelayPolicy, retryCount: number, baseSeconds?: number): number {
  if (baseSeconds !== undefined) return wholeMs(baseSeconds, RETRY_DELAY_CEILING_MS)
  if (policy.delays !== null)
    return wholeMs(policy.delays[tableIndex(policy.delays, retryCount)]!, RETRY_DELAY_CEILING_MS)
  if (policy.backoff === 'FIXED' || policy.jitter === 'DECORRELATED') {
    return wholeMs(policy.retryDelay, RETRY_DELAY_CEILING_MS)
  }
  return wholeMs(policy.retryDelay * policy.backoffMultiplier ** retryCount, delayCeilingMs(policy))
}

function wholeMs(seconds: number, limitMs: number): number {
  const ms = Math.round(seconds * 1000)
  return Number.isFinite(ms) ? Math.min(ms, limitMs) : limitMs
}

function jitter(policy: DelayPolicy, baseMs: number, input: DelayInput): number {
  const spanMs = jitterSpanMs(policy, baseMs)
  if (policy.jitter === 'NONE' || spanMs === 0) return 0
  if (policy.jitter === 'RANDOM') return Math.floor(input.random * spanMs)
  return Number(sha1(`${input.sessionId.toLowerCase()}${input.retryCount}`) % BigInt(spanMs))
}

function jitterSpanMs(policy: DelayPolicy, baseMs: number): number {
  return Math.floor(baseMs * policy.jitterRatio)
}

/** The hash of the UTF-8 text, as a 160-bit big-endian integer. */
export function sha1(text: string): bigint {
  return BigInt(`0x${createHash('sha1').update(text, 'utf8').digest('hex')}`)
}

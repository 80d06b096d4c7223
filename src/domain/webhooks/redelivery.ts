import { computeDelay, type DelayPolicy } from '../retry/delay.ts'

/** The schedule that Standard Webhooks gives: the first attempt at once, then so many seconds after each failure. */
export const REDELIVERY_SECONDS: readonly number[] = [
  5,
  5 * 60,
  30 * 60,
  2 * 3600,
  5 * 3600,
  10 * 3600,
  14 * 3600,
  20 * 3600,
  24 * 3600,
]

/** Up to a tenth more, by a hash of the delivery: what failed together does not come back together. */
const JITTER: DelayPolicy = {
  retryDelay: 1,
  backoff: 'FIXED',
  backoffMultiplier: 1,
  maxRetryDelay: null,
  jitter: 'DETERMINISTIC',
  jitterRatio: 0.1,
}

/** What becomes of a delivery after an attempt. `restMs`: how long the endpoint wants to be left alone altogether. */
export type Verdict =
  | { kind: 'delivered' }
  | { kind: 'again'; inMs: number; restMs: number }
  | { kind: 'exhausted'; restMs: number }
  /** The endpoint wants nothing any more. */
  | { kind: 'gone' }

/** Whatever is no 2xx has failed, redirections too. */
export function judgeAttempt(input: {
  deliveryId: string
  /** Null where there was no answer. */
  statusCode: number | null
  retryAfterMs: number | null
  /** In the present schedule, before this attempt. */
  failures: number
  /** Whether there is a schedule: a test event has one attempt. */
  redelivered: boolean
}): Verdict {
  const { deliveryId, statusCode, retryAfterMs, failures, redelivered } = input
  if (statusCode !== null && statusCode >= 200 && statusCode < 300) return { kind: 'delivered' }
  if (statusCode === 410) return { kind: 'gone' }
  const restMs = statusCode === 429 || statusCode === 503 ? (retryAfterMs ?? 0) : 0
  const baseSeconds = redelivered ? REDELIVERY_SECONDS[failures] : undefined
  if (baseSeconds === undefined) return { kind: 'exhausted', restMs }
  const { delayMs } = computeDelay({
    policy: JITTER,
    sessionId: deliveryId,
    retryCount: failures,
    random: 0,
    baseSeconds,
  })
  return { kind: 'again', inMs: Math.max(delayMs, retryAfterMs ?? 0), restMs }
}

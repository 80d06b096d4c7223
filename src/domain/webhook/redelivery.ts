import { computeDelay, type DelayPolicy } from '../retry/delay.ts'

/** The schedule of Standard Webhooks: the first attempt at once, then this many seconds after each failure. */
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

/** Adds up to a tenth, by a hash of the delivery, so that deliveries that failed together do not come back together. */
const JITTER: DelayPolicy = {
  retryDelay: 1,
  backoff: 'FIXED',
  backoffMultiplier: 1,
  maxRetryDelay: null,
  jitter: 'DETERMINISTIC',
  jitterRatio: 0.1,
}

/** What happens to a delivery after an attempt. `restMs`: how long the endpoint wants to be left alone altogether. */
export type Verdict =
  | { kind: 'delivered' }
  | { kind: 'again'; inMs: number; restMs: number }
  | { kind: 'exhausted'; restMs: number }
  /** The endpoint is gone for good. */
  | { kind: 'gone' }

/** Anything but a 2xx is a failure, redirects included. */
export function judgeAttempt(input: {
  deliveryId: string
  /** Null if there was no response. */
  statusCode: number | null
  retryAfterMs: number | null
  /** Failures in the present schedule, before this attempt. */
  failures: number
  /** Whether there is a schedule: a test event gets one attempt. */
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

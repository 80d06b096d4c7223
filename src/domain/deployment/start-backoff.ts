import { ROUTE_BACKOFF_MAX_MS, ROUTE_BACKOFF_MIN_MS } from '../limits.ts'
import { computeDelay, type DelayPolicy } from '../retry/delay.ts'

const BACKOFF: DelayPolicy = {
  retryDelay: ROUTE_BACKOFF_MIN_MS / 1000,
  backoff: 'EXPONENTIAL',
  backoffMultiplier: 2,
  maxRetryDelay: ROUTE_BACKOFF_MAX_MS / 1000,
  jitter: 'DETERMINISTIC',
  jitterRatio: 0.25,
}

/**
 * The time in ms from the last of `failures` (at least 1) failed routes to the next start, computed like the retry
 * delay of a session.
 */
export function startBackoffMs(failures: number, failedSessionId: string): number {
  return computeDelay({ policy: BACKOFF, sessionId: failedSessionId, retryCount: failures - 1, random: 0 }).delayMs
}

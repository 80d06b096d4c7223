import type { HttpRetry, NetworkRetry, ReconnectRetry } from '../settings.ts'

/** Statuses that are retried if they have a Retry-After header, even if `statuses` does not list them. */
const STATUSES_WITH_TIME: readonly number[] = [413, 429, 503]

type HttpVerdict =
  | { action: 'return' }
  | { action: 'retry'; delaySeconds: number }
  /** The response would be retried, but the budget is used up. */
  | { action: 'raise' }

/**
 * Decides what to do with the response to a repeatable operation, in the way of urllib3. `failures` counts responses
 * that called for a retry, including this one; `retryAfterSeconds` comes from the response.
 */
export function judgeAnswer(
  config: HttpRetry,
  answer: { status: number; retryAfterSeconds?: number },
  failures: number,
): HttpVerdict {
  const { status, retryAfterSeconds } = answer
  const hasTime = retryAfterSeconds !== undefined && STATUSES_WITH_TIME.includes(status)
  if (!config.statuses.includes(status) && !hasTime) return { action: 'return' }
  if (failures > config.total) return { action: 'raise' }
  const asked = Math.min(retryAfterSeconds ?? 0, config.retryAfterMaxSeconds)
  return { action: 'retry', delaySeconds: asked > 0 ? asked : backoffSeconds(config, failures) }
}

function backoffSeconds({ backoffFactor, backoffMaxSeconds }: HttpRetry, failures: number): number {
  if (failures <= 1) return 0
  return Math.min(backoffMaxSeconds, backoffFactor * 2 ** (failures - 1))
}

/**
 * Returns the seconds from `now` (ms) that a Retry-After header requests, as a number or as a date. Undefined if the
 * header is missing or is neither of the two.
 */
export function parseRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}

/**
 * Returns the seconds to wait after attempt number `failed` has failed, or null if that was the last one.
 * `elapsedSeconds` is the time since the first attempt began, so the last wait may end after `stopAfterSeconds`.
 */
export function nextAttemptDelay(
  config: NetworkRetry,
  state: { failed: number; elapsedSeconds: number },
  random: () => number,
): number | null {
  const { failed, elapsedSeconds } = state
  if (config.stopAfterSeconds !== null && elapsedSeconds >= config.stopAfterSeconds) return null
  if (config.stopAfterAttempts !== null && failed >= config.stopAfterAttempts) return null
  const grown = Math.min(config.maxSeconds, config.multiplierSeconds * 2 ** (failed - 1))
  const delay = Math.max(config.minSeconds, grown)
  return config.random ? config.minSeconds + random() * (delay - config.minSeconds) : delay
}

/**
 * Returns the seconds before connection attempt `failed` + 1, randomized so that a server's clients do not all return
 * at once.
 */
export function reconnectDelay({ minSeconds, maxSeconds }: ReconnectRetry, failed: number, random: () => number) {
  const grown = Math.min(maxSeconds, minSeconds * 2 ** Math.min(failed - 1, 30))
  return grown * (0.5 + random() / 2)
}

/** Waits. Rejects with the signal's reason as soon as it aborts, and leaves no timer. */
export function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, seconds * 1000)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

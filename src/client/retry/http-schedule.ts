import type { HttpRetry } from './retry-config.ts'

/** Retried if they have a Retry-After header, whatever `statuses` says. */
const STATUSES_WITH_TIME: readonly number[] = [413, 429, 503]

export type HttpVerdict =
  | { action: 'return' }
  | { action: 'retry'; delaySeconds: number }
  /** It would be retried, but the budget is used up. */
  | { action: 'raise' }

/**
 * What to do with the response to a repeatable operation; follows urllib3. `failures` counts responses that called for
 * a retry, including this one; `retryAfterSeconds` is taken from the response.
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
 * Seconds from `now` (ms) on that a Retry-After header asks for: a number of them, or a date. Undefined for neither.
 */
export function parseRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}

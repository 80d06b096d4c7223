import { WEBHOOK_RETRY_AFTER_MAX_MS } from '../limits.ts'

/** RFC 9110: seconds, or a date. Null where the header is neither; more than the limit counts as the limit. */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null
  const text = header.trim()
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : httpDate(text) - now.getTime()
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), WEBHOOK_RETRY_AFTER_MAX_MS)
}

/** `Date.parse` takes much that is no date of HTTP, `-5` among it. */
function httpDate(text: string): number {
  return /^[A-Z][a-z]{2,8},? .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
}

import { WEBHOOK_RETRY_AFTER_MAX_MS } from '../limits.ts'

/** RFC 9110: seconds, or a date. Null if the header is neither; values above the limit count as the limit. */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null
  const text = header.trim()
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : httpDate(text) - now.getTime()
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), WEBHOOK_RETRY_AFTER_MAX_MS)
}

/** `Date.parse` accepts much that is not an HTTP date, such as `-5`. */
function httpDate(text: string): number {
  return /^[A-Z][a-z]{2,8},? .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
}

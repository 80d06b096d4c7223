import { EVENT_TYPES } from '../events.ts'

/** Wire names of events; a `*` at the end matches any rest: `session.error`, `session.retry_*`, `*`. */
const PATTERN = /^(?:[a-z_]+\.)*(?:[a-z_]+|[a-z_]*\*)$/

/** A pattern that matches no present event type is taken for a mistake. */
export function isEventPattern(text: string): boolean {
  return PATTERN.test(text) && EVENT_TYPES.some((type) => eventPatternMatches(text, type))
}

export function eventPatternMatches(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern
}

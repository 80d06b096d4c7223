import { EVENT_TYPES } from '../events.ts'

/** Names of events on the wire; a `*` at the end stands for any rest: `session.error`, `session.retry_*`, `*`. */
const PATTERN = /^(?:[a-z_]+\.)*(?:[a-z_]+|[a-z_]*\*)$/

/** A pattern that no event of today has would be a slip of the pen. */
export function isEventPattern(text: string): boolean {
  return PATTERN.test(text) && EVENT_TYPES.some((type) => eventPatternMatches(text, type))
}

export function eventPatternMatches(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern
}

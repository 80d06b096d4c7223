import type { RateLimit } from './admit.ts'

/** A value that is set now, and the one that replaces it once its time is over. */
export interface Timed<Value> {
  value: Value
  /** Null means permanently. */
  until: Date | null
  afterwards: Value
}

export interface SwitchState {
  disabled: Timed<boolean>
  rateLimit: Timed<RateLimit | null>
}

export function currentValue<Value>({ value, until, afterwards }: Timed<Value>, now: Date): Value {
  return until !== null && until <= now ? afterwards : value
}

/**
 * Sets a value. A temporary change keeps the permanent value to return to, however often it is made; a permanent one
 * replaces both.
 */
export function change<Value>(timed: Timed<Value>, value: Value, until: Date | null): Timed<Value> {
  if (until === null) return { value, until: null, afterwards: value }
  const lasting = timed.until === null ? timed.value : timed.afterwards
  return { value, until, afterwards: lasting }
}

import type { RateLimit } from './admit.ts'

/** A value that is set now, and the one that replaces it once its time is over. */
export interface Timed<Value> {
  value: Value
  /** Null means permanently. */
  until: Date | null
  afterwards: Value
  /** What set it last; null if nothing has. */
  change: SwitchChange | null
}

/** Who set it, by the name of the token; `reason` is in their words. */
export interface SwitchChange {
  at: Date
  by: string
  reason: string | null
}

export interface SwitchState {
  disabled: Timed<boolean>
  rateLimit: Timed<RateLimit | null>
}

export function currentValue<Value>({ value, until, afterwards }: Timed<Value>, now: Date): Value {
  return until !== null && until <= now ? afterwards : value
}

/** What made the current value; null also if an earlier one came back by itself. */
export function currentChange<Value>({ until, change: last }: Timed<Value>, now: Date): SwitchChange | null {
  return until !== null && until <= now ? null : last
}

/**
 * Sets a value. A temporary change keeps the permanent value to return to, however often it is made; a permanent one
 * replaces both.
 */
export function change<Value>(
  timed: Timed<Value>,
  { value, until, by }: { value: Value; until: Date | null; by: SwitchChange },
): Timed<Value> {
  if (until === null) return { value, until: null, afterwards: value, change: by }
  const lasting = timed.until === null ? timed.value : timed.afterwards
  return { value, until, afterwards: lasting, change: by }
}

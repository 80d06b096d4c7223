import type { RateLimit } from './admit.ts'

/** What is set now, and what holds in its place once its time is over. */
export interface Timed<Value> {
  value: Value
  /** Null is for good. */
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

/** A change for a time keeps what held for good behind it, however often it is made; one for good replaces both. */
export function change<Value>(timed: Timed<Value>, value: Value, until: Date | null): Timed<Value> {
  if (until === null) return { value, until: null, afterwards: value }
  const lasting = timed.until === null ? timed.value : timed.afterwards
  return { value, until, afterwards: lasting }
}

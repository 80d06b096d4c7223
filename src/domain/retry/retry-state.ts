import { budgetOf, type RateLimit } from './admit.ts'
import type { SessionType } from '../session/lifecycle.ts'
import type { HoldReason, RetryPhase } from '../session/failure.ts'

/** A setting with its current value, and the value that replaces it when its time is over. */
interface Timed<Value> {
  value: Value
  /** Null means that the value is permanent. */
  until: Date | null
  afterwards: Value
  /** The last change; null if there was none. */
  change: SwitchChange | null
}

/** A change of a switch. The person is identified by the name of the token; `reason` is the person's text. */
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

/**
 * Returns the change that set the current value; null if there is none, or if an earlier value came back because its
 * successor expired.
 */
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

export interface RetryState {
  phase: RetryPhase
  /** retryCount + 1: counts within the budget, unlike the position in the chain. */
  attempt: number
  maxAttempts: number
  /** Text such as `attempt 2 of 4`. */
  label: string
  reason: string | null
  scheduledAt: Date | null
  delaySeconds: number | null
}

export interface StoredDecision {
  phase: RetryPhase
  explanation: string
  holdReason: HoldReason | null
  delayMs: number | null
  dueAt: Date | null
}

export const HOLD_REASON_TEXT: Readonly<Record<HoldReason, string>> = {
  DISABLED: 'retries are switched off',
  RATE_LIMITED: 'the rate limit of retries is reached',
  QUOTA: 'the limit of pending sessions is reached',
  PARENT_ALIVE: 'the failed attempt may still run on a silent agent',
}

/** Returns text such as `retries are switched off (cluster)`. */
export function holdReasonText({ reason, scope }: { reason: HoldReason; scope: string | null }): string {
  return scope === null ? HOLD_REASON_TEXT[reason] : `${HOLD_REASON_TEXT[reason]} (${scope.toLowerCase()})`
}

/** Derives a session's retry state. UNDECIDED: a batch session with a budget that is running or has only just ended. */
export function retryState(
  session: { sessionType: SessionType; retryCount: number; maxRetries: number },
  decision: StoredDecision | null,
): RetryState {
  const attempt = session.retryCount + 1
  const maxAttempts = budgetOf(session) + 1
  return {
    phase: decision?.phase ?? (maxAttempts > 1 ? 'UNDECIDED' : 'NONE'),
    attempt,
    maxAttempts,
    label: `attempt ${attempt} of ${maxAttempts}`,
    reason: reasonOf(decision),
    scheduledAt: decision?.dueAt ?? null,
    delaySeconds: typeof decision?.delayMs === 'number' ? decision.delayMs / 1000 : null,
  }
}

function reasonOf(decision: StoredDecision | null): string | null {
  if (decision?.phase !== 'HELD' || decision.holdReason === null) return decision?.explanation ?? null
  return `held: ${HOLD_REASON_TEXT[decision.holdReason]}; ${decision.explanation}`
}

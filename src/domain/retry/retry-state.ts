import { budgetOf, type HoldingSwitch, type RateLimit } from './admit.ts'
import type { SessionType } from '../session/lifecycle.ts'
import type { HoldReason, RetryPhase } from '../session/failure.ts'
import type { RetryScope } from './policy/resolve-policy.ts'

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
  breaker: BreakerSetting | null
}

/** Holds the retries of a group of failures that has had at least so many failures, in so many chains, within a time. */
export interface BreakerSetting {
  failures: number
  chains: number
  /** In seconds. */
  window: number
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

/** Describes the setting of a switch whose present value holds retries. */
export function holdingSwitch(
  { scope, name }: { scope: RetryScope; name: string | null },
  setting: SwitchState['disabled' | 'rateLimit'],
  now: Date,
): HoldingSwitch {
  const { at = null, by = null, reason = null } = currentChange<unknown>(setting, now) ?? {}
  const until = setting.until !== null && setting.until > now ? setting.until.toISOString() : null
  return { scope, name, by, reason, since: at?.toISOString() ?? null, until }
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
  /** A `HoldingSwitch`; null if no switch holds it. */
  heldBy: unknown
  delayMs: number | null
  dueAt: Date | null
}

export const HOLD_REASON_TEXT: Readonly<Record<HoldReason, string>> = {
  DISABLED: 'retries are switched off',
  RATE_LIMITED: 'the rate limit of retries is reached',
  QUOTA: 'the limit of pending sessions is reached',
  PARENT_ALIVE: 'the failed attempt may still run on a silent agent',
  BREAKER: 'many chains fail in the same way',
}

/** Returns the stored switch that holds a retry; null if none does. */
export function readHoldingSwitch(stored: unknown): HoldingSwitch | null {
  return typeof stored === 'object' && stored !== null ? (stored as HoldingSwitch) : null
}

/**
 * Returns text such as `retries are switched off (project research), set by ada, until 2026-11-30T08:00:00Z: the file
 * server is down`.
 */
export function holdReasonText(hold: { reason: HoldReason; scope?: string | null; heldBy: unknown }): string {
  const found = readHoldingSwitch(hold.heldBy)
  const words = HOLD_REASON_TEXT[hold.reason]
  if (found === null) return hold.scope == null ? words : `${words} (${hold.scope.toLowerCase()})`
  const { scope, name, by, until, reason } = found
  const where = [scope.toLowerCase(), ...(name === null ? [] : [name])].join(' ')
  const who = by === null ? '' : `, set by ${by}`
  const end = until === null ? '' : `, until ${until.replace(/\.\d+Z$/, 'Z')}`
  return `${words} (${where})${who}${end}${reason === null ? '' : `: ${reason}`}`
}

/** Returns the explanation of a decision, with what holds its retry. */
export function heldExplanation(decision: Pick<StoredDecision, 'holdReason' | 'heldBy' | 'explanation'>): string {
  const { holdReason: reason, heldBy, explanation } = decision
  return reason === null ? `held; ${explanation}` : `held: ${holdReasonText({ reason, heldBy })}; ${explanation}`
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
    reason: decision?.phase === 'HELD' ? heldExplanation(decision) : (decision?.explanation ?? null),
    scheduledAt: decision?.dueAt ?? null,
    delaySeconds: typeof decision?.delayMs === 'number' ? decision.delayMs / 1000 : null,
  }
}

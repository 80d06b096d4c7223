import type { SessionType } from '../session/statuses.ts'
import { budgetOf } from './budget.ts'
import type { HoldReason, RetryPhase } from '../session/causes.ts'

export interface RetryState {
  phase: RetryPhase
  /** retryCount + 1: counts within the budget, unlike the position in the chain. */
  attempt: number
  maxAttempts: number
  /** `attempt 2 of 4` */
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

export const HOLD_WORDS: Readonly<Record<HoldReason, string>> = {
  DISABLED: 'retries are switched off',
  RATE_LIMITED: 'the rate limit of retries is reached',
  QUOTA: 'the limit of pending sessions is reached',
  PARENT_ALIVE: 'the failed attempt may still run on a silent agent',
}

/** `retries are switched off (cluster)` */
export function holdWords({ reason, scope }: { reason: HoldReason; scope: string | null }): string {
  return scope === null ? HOLD_WORDS[reason] : `${HOLD_WORDS[reason]} (${scope.toLowerCase()})`
}

/** A session's retry state. UNDECIDED: a batch session with a budget that is running or has only just ended. */
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
  return `held: ${HOLD_WORDS[decision.holdReason]}; ${decision.explanation}`
}

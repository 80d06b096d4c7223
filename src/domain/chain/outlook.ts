import type { HoldReason, RetryPhase } from '../session/failure.ts'
import { heldExplanation } from '../retry/retry-state.ts'
import { isTerminal, type SessionStatus, type SessionType } from '../session/lifecycle.ts'

/**
 * The state of a chain. SQL functions in the migrations derive it from the newest attempt and the decision about it.
 */
export const CHAIN_STATES = ['LIVE', 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type ChainState = (typeof CHAIN_STATES)[number]

/** The newest attempt of a chain, and the decision about it. */
export interface NewestAttempt {
  status: SessionStatus
  sessionType: SessionType
  attempt: number
  retryCount: number
  maxRetries: number
  /** Null while there is no decision. */
  phase: RetryPhase | null
  explanation: string | null
  holdReason: HoldReason | null
  /** A `HoldingSwitch`; null if no switch holds it. */
  heldBy: unknown
  dueAt: Date | null
}

export interface Outlook {
  /** A retry is planned, or would follow if the current attempt failed for an eligible cause. */
  willRetry: boolean
  reason: string
  /** When the planned retry is due; null if it is held and overdue. */
  at: Date | null
}

/**
 * Predicts whether a chain will continue automatically. Rules and causes can be judged only after a failure, so before
 * that a remaining budget means "may".
 */
export function outlook(newest: NewestAttempt, now: Date): Outlook {
  const { phase, explanation, dueAt } = newest
  if (phase === 'SCHEDULED') return { willRetry: true, reason: explanation!, at: dueAt }
  if (phase === 'HELD') {
    const reason = heldExplanation({ ...newest, explanation: explanation! })
    return { willRetry: true, reason, at: dueAt !== null && dueAt > now ? dueAt : null }
  }
  if (phase !== null) return { willRetry: false, reason: explanation!, at: null }
  return { ...underWay(newest), at: null }
}

function underWay({ status, sessionType, attempt, retryCount, maxRetries }: NewestAttempt): Omit<Outlook, 'at'> {
  const over = isTerminal(status)
  if (sessionType !== 'BATCH') return { willRetry: false, reason: `${sessionType} sessions are never retried` }
  const where = over ? `attempt ${attempt} is over and not yet judged` : `attempt ${attempt} is ${status}`
  const left = maxRetries - retryCount
  if (maxRetries === 0) return { willRetry: false, reason: `${where}; maxRetries is 0` }
  if (left <= 0) return { willRetry: false, reason: `${where}; all ${maxRetries} retries are used` }
  return { willRetry: true, reason: `${where}; ${left} of ${maxRetries} retries are left if it fails` }
}

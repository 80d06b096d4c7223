import type { HoldReason, RetryPhase } from '../session/failure.ts'
import { counted } from '../amounts.ts'
import { heldExplanation } from '../retry/retry-state.ts'
import { isTerminal, type SessionStatus, type SessionType } from '../session/lifecycle.ts'

/**
 * The stored state of a chain. SQL functions in the migrations derive it from the newest attempt and the decision about
 * it.
 */
export const STORED_CHAIN_STATES = ['LIVE', 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type StoredChainState = (typeof STORED_CHAIN_STATES)[number]

/** The states that LIVE stands for. The newest attempt tells them apart when a chain is read. */
export const LIVE_STATES = ['QUEUED', 'IMPOSSIBLE', 'RUNNING'] as const
export type LiveState = (typeof LIVE_STATES)[number]

/** The states that people see. */
export const CHAIN_STATES = [...LIVE_STATES, 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type ChainState = (typeof CHAIN_STATES)[number]

/** What filters accept: LIVE means all of LIVE_STATES. */
export const FILTERED_CHAIN_STATES = [...CHAIN_STATES, 'LIVE'] as const
export type FilteredChainState = (typeof FILTERED_CHAIN_STATES)[number]

/** @param impossible whether no agent and no quota could ever take its pending attempt */
export function chainState(state: StoredChainState, newest: SessionStatus, impossible: boolean): ChainState {
  if (state !== 'LIVE') return state
  if (newest !== 'PENDING') return 'RUNNING'
  return impossible ? 'IMPOSSIBLE' : 'QUEUED'
}

/** Returns the stored states of chains in these states, and which chains in LIVE are wanted. */
export function storedStates(states: readonly FilteredChainState[]): {
  stored: StoredChainState[]
  live: ReadonlySet<LiveState>
} {
  const isLive = (state: FilteredChainState): state is LiveState => (LIVE_STATES as readonly string[]).includes(state)
  const live = new Set(states.flatMap((state) => (state === 'LIVE' ? LIVE_STATES : isLive(state) ? [state] : [])))
  const others = states.filter((state) => !isLive(state) && state !== 'LIVE') as StoredChainState[]
  return { stored: [...new Set([...(live.size > 0 ? (['LIVE'] as const) : []), ...others])], live }
}

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
  if (left <= 0) {
    const used = maxRetries === 1 ? 'its only retry is used' : `all ${maxRetries} retries are used`
    return { willRetry: false, reason: `${where}; ${used}` }
  }
  const rest = `${left} of ${counted(maxRetries, 'retry', 'retries')} ${left === 1 ? 'is' : 'are'} left`
  return { willRetry: true, reason: `${where}; ${rest} if it fails` }
}

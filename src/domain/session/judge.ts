import { TRY_PAUSE_MAX_MS, TRY_PAUSE_MIN_MS } from '../limits.ts'
import type { FailureError } from './failure.ts'
import {
  isTerminal,
  type KernelStatus,
  type LifecycleDeclaration,
  PROMOTIONS,
  type SchedulingResult,
  sessionMayMove,
  type SessionResult,
  type SessionStatus,
} from './lifecycle.ts'

/**
 * A handler's outcome for one session that it was given; a session without an outcome is only checked for its timeout.
 */
export type Outcome =
  | { kind: 'success' }
  | ({ kind: 'failure' } & FailedStep)
  /** `pauseMs` is the time before which the session need not be claimed again. */
  | { kind: 'skipped'; reason: string; pauseMs?: number }

export interface FailedStep {
  error: FailureError
  /** Another try on the same agent cannot succeed, so none is made even if the group allows more. */
  giveUpNow?: boolean
  /** No other agent is left: the session ends if it gives up. */
  nowhereElse?: boolean
}

/** The facts about the session that the coordinator judges by. */
export interface Judged {
  status: SessionStatus
  tries: number
  reschedules: number
  triesMax: number
  reschedulesMax: number
  /** Whether it has been in its status for longer than the group allows. */
  expired: boolean
  /**
   * Set if a kernel has been in the queue of another scheduler for longer than the group allows; `reason` is the last
   * reason of that scheduler.
   */
  queuedTooLong?: { reason: string | null; timeoutMs: number } | null
  /** Its own limit in seconds if it has waited for longer in PENDING; null or missing if not. */
  waitedTooLong?: number | null
  /** Whether nothing may start it again once its start was ordered. Missing means false. */
  neverRunTwice?: boolean
  /** The recorded reason for waiting; null if none was recorded. */
  pendingReason: string | null
  kernels: readonly {
    status: KernelStatus
    agentId: string | null
    error: FailureError | null
    fencedInMs: number
  }[]
}

export interface Judgement {
  outcome: SchedulingResult
  to: SessionStatus
  kernelTo: KernelStatus | null
  /** The statuses whose kernels move to `kernelTo`; null means all kernels that have not ended. */
  kernelFrom: readonly KernelStatus[] | null
  failedKernelTo: KernelStatus | null
  tries: number
  pauseMs: number | null
  rescheduled: boolean
  /** The agents that kept the session from starting; from now on they are chosen last. */
  failedAgents: string[]
  result: SessionResult | null
  error: FailureError | null
  pendingReason: string | null
}

/**
 * Judges a session. A success moves it on. A failure costs a try; when the group's maximum of tries is reached, the
 * session leaves the handler (GIVE_UP). A session that neither succeeded nor failed expires after its timeout. GIVE_UP
 * and expiry lead back to PENDING a bounded number of times; after that the session ends as failed. Undefined if there
 * is nothing to do.
 */
export function judge(
  handler: LifecycleDeclaration,
  session: Judged,
  outcome: Outcome | undefined,
): Judgement | undefined {
  if (outcome?.kind === 'success') return success(handler, session)
  if (outcome?.kind === 'failure') {
    const tries = session.tries + 1
    if (mustNotStartAgain(session)) return end(session, 'GIVE_UP', onlyOnce(outcome.error))
    if (outcome.giveUpNow || tries >= session.triesMax) {
      return leave(handler, session, 'GIVE_UP', outcome)
    }
    return needRetry(handler, session, tries, outcome.error)
  }
  if (session.queuedTooLong) return end(session, 'EXPIRED', queueTimeout(session.queuedTooLong))
  if (session.waitedTooLong != null) return leave(handler, session, 'EXPIRED', { error: waitedTooLong(session) })
  if (session.expired && mustNotStartAgain(session)) {
    return end(session, 'EXPIRED', onlyOnce(timeoutOf(session.status)))
  }
  if (session.expired) return leave(handler, session, 'EXPIRED', { error: timeoutOf(session.status) })
  if (outcome?.kind === 'skipped') return skipped(session, outcome)
  return undefined
}

/** The pause before try `tries + 1`: it starts short, doubles, and is bounded. */
export function tryPauseMs(tries: number): number {
  return Math.min(TRY_PAUSE_MAX_MS, TRY_PAUSE_MIN_MS * 2 ** (tries - 1))
}

function stay(session: Judged): Omit<Judgement, 'outcome'> {
  return {
    to: session.status,
    kernelTo: null,
    kernelFrom: null,
    failedKernelTo: null,
    tries: session.tries,
    pauseMs: null,
    rescheduled: false,
    failedAgents: [],
    result: null,
    error: null,
    pendingReason: null,
  }
}

/** Records a reason for waiting, unless the session already has this reason and no pause is requested. */
function skipped(session: Judged, outcome: { reason: string; pauseMs?: number }): Judgement | undefined {
  const pauseMs = outcome.pauseMs ?? null
  if (pauseMs === null && session.pendingReason === outcome.reason) return undefined
  return { ...stay(session), outcome: 'SKIPPED', pauseMs, pendingReason: outcome.reason }
}

/**
 * Moves a session on. A session that already has the target status (one of its kernels is tried again) keeps it, and
 * keeps its tries.
 */
function success(handler: LifecycleDeclaration, session: Judged): Judgement {
  const target = handler.success.session ?? session.status
  const moves = sessionMayMove(session.status, target)
  const to = moves ? target : session.status
  return {
    ...stay(session),
    outcome: 'SUCCESS',
    to,
    kernelTo: handler.success.kernel,
    // The session's other kernels may already have later statuses.
    kernelFrom: handler.kernelIn,
    tries: moves ? 0 : session.tries,
  }
}

function needRetry(handler: LifecycleDeclaration, session: Judged, tries: number, error: FailureError): Judgement {
  const { session: to, kernel: kernelTo } = handler.needRetry
  return {
    ...stay(session),
    outcome: 'NEED_RETRY',
    to: to ?? session.status,
    kernelTo,
    // The kernel goes back to the handler's own kernel status, so that the handler works on it again.
    failedKernelTo: handler.kernelIn[0] ?? null,
    tries,
    pauseMs: tryPauseMs(tries),
    error,
  }
}

function leave(
  handler: LifecycleDeclaration,
  session: Judged,
  outcome: 'GIVE_UP' | 'EXPIRED',
  { error: cause, nowhereElse = false }: FailedStep,
): Judgement {
  const move = outcome === 'GIVE_UP' ? handler.giveUp : handler.expired
  const to = move.session ?? session.status
  if (to !== 'PENDING') {
    const ended = to === 'CANCELLED' ? { result: 'FAILURE' as const, error: cause } : { result: null, error: null }
    return { ...stay(session), outcome, to, kernelTo: move.kernel, tries: 0, ...ended }
  }
  // A kernel that runs or has ended cannot go back: its user code has begun, or its end is final.
  const failedAgents = cause.agentId === undefined ? silentAgents(handler, session) : [cause.agentId]
  const error = failedAgents.length === 1 ? { ...cause, agentId: failedAgents[0]! } : cause
  const ranAlready = session.kernels.some(({ status }) => status === 'RUNNING' || isTerminal(status))
  if (ranAlready || nowhereElse || session.reschedules >= session.reschedulesMax) {
    return { ...end(session, outcome, error), failedAgents }
  }
  return {
    ...stay(session),
    outcome,
    to: 'PENDING',
    kernelTo: 'PENDING',
    tries: 0,
    pauseMs: fencePauseMs(session),
    rescheduled: true,
    failedAgents,
    error,
  }
}

/** Whether the start of its kernels was ordered, and it must not run twice. */
function mustNotStartAgain({ neverRunTwice = false, status }: Judged): boolean {
  return neverRunTwice && status === 'CREATING'
}

function onlyOnce(error: FailureError): FailureError {
  return { ...error, message: `${error.message}; its start was ordered, and it must never run twice` }
}

function end(session: Judged, outcome: 'GIVE_UP' | 'EXPIRED', error: FailureError): Judgement {
  return { ...stay(session), outcome, to: 'TERMINATING', tries: 0, result: 'FAILURE', error }
}

/** Agents of the kernels that the session waited for in vain. */
function silentAgents({ name }: LifecycleDeclaration, { kernels }: Judged): string[] {
  const { kernelStatuses } = PROMOTIONS[name === 'prepare-sessions' ? 'promote-to-prepared' : 'promote-to-running']
  const late = kernels.filter(({ status }) => kernelStatuses.includes(status))
  return [...new Set(late.flatMap(({ agentId }) => agentId ?? []))]
}

/**
 * Computes the pause before a kernel may be assigned again. If it is unknown whether the kernel has started, its
 * agent's fence must have stopped it first.
 */
function fencePauseMs(session: Judged): number | null {
  const unknown = session.kernels.filter(
    ({ status, error }) => status === 'CREATING' && (error === null || error.name === 'agent-lost'),
  )
  return unknown.length === 0 ? null : Math.max(...unknown.map((kernel) => kernel.fencedInMs))
}

function timeoutOf(status: SessionStatus): FailureError {
  return { name: 'scheduler-timeout', message: `longer in ${status} than its resource group allows` }
}

function waitedTooLong({ waitedTooLong: seconds, pendingReason }: Judged): FailureError {
  const words = `waited for longer than the ${seconds} s that it may wait (maxPending)`
  return { name: 'waited-too-long', message: pendingReason === null ? words : `${words}: ${pendingReason}` }
}

/**
 * The error of a session that waited too long in another scheduler's queue. It is a failure for the retry policy to
 * judge, because going back to PENDING would only lead to the same queue.
 */
function queueTimeout({ reason, timeoutMs }: { reason: string | null; timeoutMs: number }): FailureError {
  const words = `waited longer than the ${timeoutMs / 1000} s that its resource group allows (queueTimeout)`
  return { name: 'scheduler-timeout', message: reason === null ? words : `${words}: ${reason}` }
}

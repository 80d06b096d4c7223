/** All statuses of sessions and kernels, in the order in which they are passed through. */
export const STATUSES = [
  'PENDING',
  'SCHEDULED',
  'PREPARING',
  'PULLING',
  'PREPARED',
  'CREATING',
  'RUNNING',
  'TERMINATING',
  'TERMINATED',
  'ERROR',
  'CANCELLED',
] as const

export type SessionStatus = (typeof STATUSES)[number]
export type KernelStatus = SessionStatus

export const TERMINAL_STATUSES = ['TERMINATED', 'ERROR', 'CANCELLED'] as const satisfies readonly SessionStatus[]
export const LIVE_STATUSES: readonly SessionStatus[] = STATUSES.filter((status) => !isTerminal(status))

export type SessionType = 'BATCH' | 'INTERACTIVE' | 'INFERENCE'
export type SessionResult = 'UNDEFINED' | 'SUCCESS' | 'FAILURE'
export type ClusterMode = 'SINGLE_NODE' | 'MULTI_NODE'
export type SessionOrigin = 'INITIAL' | 'AUTO_RETRY' | 'RESUBMISSION'

/** Whether it has an agent and does not run yet. */
export function isStarting(status: SessionStatus): boolean {
  return status !== 'PENDING' && STATUSES.indexOf(status) < STATUSES.indexOf('RUNNING')
}

export function isTerminal(status: SessionStatus): boolean {
  return (TERMINAL_STATUSES as readonly SessionStatus[]).includes(status)
}

/**
 * The allowed moves of a session; all others are refused. Each write names the status it moves from, so a session that
 * another transaction has moved meanwhile is not changed.
 *
 * The lifecycle handlers, the promotions and a person who terminates it move a session. TERMINATING ends in ERROR if
 * the result is FAILURE and in TERMINATED otherwise.
 */
export const SESSION_TRANSITIONS: Readonly<Record<SessionStatus, readonly SessionStatus[]>> = {
  PENDING: ['SCHEDULED', 'CANCELLED'],
  SCHEDULED: ['PREPARING', 'PREPARED', 'PENDING', 'TERMINATING'],
  PREPARING: ['PULLING', 'PREPARED', 'PENDING', 'TERMINATING'],
  PULLING: ['PREPARED', 'PENDING', 'TERMINATING'],
  PREPARED: ['CREATING', 'PENDING', 'TERMINATING'],
  CREATING: ['RUNNING', 'PENDING', 'TERMINATING'],
  RUNNING: ['TERMINATING'],
  TERMINATING: ['TERMINATED', 'ERROR'],
  TERMINATED: [],
  ERROR: [],
  CANCELLED: [],
}

/**
 * The allowed moves of a kernel. There are more than for sessions: an agent may be ahead of the scheduler (a short
 * program may start and finish between two passes), every live kernel can end, and a kernel that failed before it ran
 * is assigned again under a greater assignment (back to SCHEDULED, PREPARED or PENDING).
 */
export const KERNEL_TRANSITIONS: Readonly<Record<KernelStatus, readonly KernelStatus[]>> = {
  PENDING: ['SCHEDULED', 'CANCELLED', 'TERMINATED', 'ERROR'],
  SCHEDULED: ['PREPARING', 'PENDING', 'TERMINATING', 'TERMINATED', 'ERROR', 'CANCELLED'],
  PREPARING: ['PULLING', 'PREPARED', 'SCHEDULED', 'PENDING', 'TERMINATING', 'TERMINATED', 'ERROR'],
  PULLING: ['PREPARED', 'SCHEDULED', 'PENDING', 'TERMINATING', 'TERMINATED', 'ERROR'],
  PREPARED: ['CREATING', 'SCHEDULED', 'PENDING', 'TERMINATING', 'TERMINATED', 'ERROR'],
  CREATING: ['RUNNING', 'PREPARED', 'PENDING', 'TERMINATING', 'TERMINATED', 'ERROR'],
  RUNNING: ['TERMINATING', 'TERMINATED', 'ERROR'],
  TERMINATING: ['TERMINATED', 'ERROR'],
  TERMINATED: [],
  ERROR: [],
  CANCELLED: [],
}

export function sessionMayMove(from: SessionStatus, to: SessionStatus): boolean {
  return SESSION_TRANSITIONS[from].includes(to)
}

export function kernelMayMove(from: KernelStatus, to: KernelStatus): boolean {
  return KERNEL_TRANSITIONS[from].includes(to)
}

/** Prints the session table as a Mermaid state diagram; docs/concepts.md contains it, and a test compares the two. */
export function transitionDiagram(): string {
  const lines = ['stateDiagram-v2', '  [*] --> PENDING']
  for (const [from, targets] of Object.entries(SESSION_TRANSITIONS)) {
    for (const to of targets) lines.push(`  ${from} --> ${to}`)
    if (targets.length === 0) lines.push(`  ${from} --> [*]`)
  }
  return lines.join('\n')
}

/** The statuses to which a judged session and its kernels move; null keeps the status of that entity. */
interface Move {
  session: SessionStatus | null
  kernel: KernelStatus | null
}

/**
 * The statuses that one lifecycle handler works on, and where its outcomes lead. The handler gets a session whose
 * status is in `sessionIn` if a kernel is in `kernelIn` (work to do), if a kernel carries an error (a failure to
 * judge), or if the session has been in its status past the timeout.
 */
export interface LifecycleDeclaration {
  name: LifecycleName
  sessionIn: readonly SessionStatus[]
  kernelIn: readonly KernelStatus[]
  success: Move
  needRetry: Move
  expired: Move
  giveUp: Move
}

export type LifecycleName = 'schedule-sessions' | 'prepare-sessions' | 'start-sessions' | 'terminate-sessions'

const KEEP: Move = { session: null, kernel: null }
const BACK_TO_PENDING: Move = { session: 'PENDING', kernel: 'PENDING' }
const CANCELLED: Move = { session: 'CANCELLED', kernel: 'CANCELLED' }
const TERMINATED: Move = { session: 'TERMINATED', kernel: 'TERMINATED' }

export const LIFECYCLE_HANDLERS: Readonly<Record<LifecycleName, LifecycleDeclaration>> = {
  'schedule-sessions': {
    name: 'schedule-sessions',
    sessionIn: ['PENDING'],
    kernelIn: ['PENDING'],
    success: { session: 'SCHEDULED', kernel: 'SCHEDULED' },
    needRetry: KEEP,
    expired: CANCELLED,
    giveUp: CANCELLED,
  },
  'prepare-sessions': {
    name: 'prepare-sessions',
    sessionIn: ['SCHEDULED', 'PREPARING', 'PULLING'],
    kernelIn: ['SCHEDULED'],
    success: { session: 'PREPARING', kernel: 'PREPARING' },
    needRetry: KEEP,
    expired: BACK_TO_PENDING,
    giveUp: BACK_TO_PENDING,
  },
  'start-sessions': {
    name: 'start-sessions',
    sessionIn: ['PREPARED', 'CREATING'],
    kernelIn: ['PREPARED'],
    success: { session: 'CREATING', kernel: 'CREATING' },
    needRetry: KEEP,
    expired: BACK_TO_PENDING,
    giveUp: BACK_TO_PENDING,
  },
  'terminate-sessions': {
    name: 'terminate-sessions',
    sessionIn: ['TERMINATING'],
    kernelIn: LIVE_STATUSES,
    success: TERMINATED,
    needRetry: KEEP,
    expired: TERMINATED,
    giveUp: TERMINATED,
  },
}

/**
 * The declaration of a promotion, which moves the session alone: promote-to-pulling and detect-termination when one of
 * its kernels is in `kernelStatuses`, the others when none is.
 */
interface PromotionDeclaration {
  name: PromotionName
  sessionIn: readonly SessionStatus[]
  kernelStatuses: readonly KernelStatus[]
  becomes: SessionStatus
}

export type PromotionName =
  | 'promote-to-pulling'
  | 'promote-to-prepared'
  | 'promote-to-running'
  | 'promote-to-terminated'
  | 'detect-termination'

const NOT_PREPARED: readonly KernelStatus[] = ['PENDING', 'SCHEDULED', 'PREPARING', 'PULLING']

export const PROMOTIONS: Readonly<Record<PromotionName, PromotionDeclaration>> = {
  'promote-to-pulling': {
    name: 'promote-to-pulling',
    sessionIn: ['PREPARING'],
    kernelStatuses: ['PULLING'],
    becomes: 'PULLING',
  },
  'promote-to-prepared': {
    name: 'promote-to-prepared',
    sessionIn: ['SCHEDULED', 'PREPARING', 'PULLING'],
    kernelStatuses: NOT_PREPARED,
    becomes: 'PREPARED',
  },
  'promote-to-running': {
    name: 'promote-to-running',
    sessionIn: ['CREATING'],
    kernelStatuses: [...NOT_PREPARED, 'PREPARED', 'CREATING'],
    becomes: 'RUNNING',
  },
  'promote-to-terminated': {
    name: 'promote-to-terminated',
    sessionIn: ['TERMINATING'],
    kernelStatuses: LIVE_STATUSES,
    becomes: 'TERMINATED',
  },
  'detect-termination': {
    name: 'detect-termination',
    sessionIn: ['RUNNING'],
    kernelStatuses: TERMINAL_STATUSES,
    becomes: 'TERMINATING',
  },
}

/** The parts of the server that write scheduling history, besides the handlers of deployments and routes. */
export type SessionPhase =
  | LifecycleName
  | PromotionName
  | 'sweep-leftovers'
  | 'enforce-batch-timeouts'
  | 'terminate-session'
  | 'register-agent'
  | 'agent-sync'
  | 'watch-agents'
  | 'drain-agent'
  | 'resume-agent'
  | 'remove-agent'

export type SchedulingResult = 'SUCCESS' | 'NEED_RETRY' | 'EXPIRED' | 'GIVE_UP' | 'SKIPPED'

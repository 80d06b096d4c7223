import { LIVE_STATUSES, TERMINAL_STATUSES, type KernelStatus, type SessionStatus } from './statuses.ts'

/** Where a judged session and its kernels go; null keeps the status of that entity. */
export interface Move {
  session: SessionStatus | null
  kernel: KernelStatus | null
}

/**
 * The statuses that one lifecycle handler works on, and where its outcomes lead. It is given a session whose status is
 * in `sessionIn` if a kernel is in `kernelIn` (work to do), if a kernel carries an error (a failure to judge), or if
 * the session has been in its status past the timeout.
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
 * A promotion moves the session alone: promote-to-pulling and detect-termination when one of its kernels is in
 * `kernelStatuses`, the others when none is.
 */
export interface PromotionDeclaration {
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

export type SchedulingResult = 'SUCCESS' | 'NEED_RETRY' | 'EXPIRED' | 'GIVE_UP' | 'SKIPPED'

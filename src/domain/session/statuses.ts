/** Sessions and kernels share one set of statuses, in the order in which they pass through them. */
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

/** It has an agent, and does not run yet. */
export function isStarting(status: SessionStatus): boolean {
  return status !== 'PENDING' && STATUSES.indexOf(status) < STATUSES.indexOf('RUNNING')
}

export function isTerminal(status: SessionStatus): boolean {
  return (TERMINAL_STATUSES as readonly SessionStatus[]).includes(status)
}

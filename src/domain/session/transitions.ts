import type { KernelStatus, SessionStatus } from './statuses.ts'

/**
 * The moves a session may make; everything else is refused. Each write names the status it moves from, so a session
 * that somebody else moved meanwhile is left alone.
 *
 * It is moved by the lifecycle handlers, by the promotions, and by a person who terminates it. TERMINATING ends in
 * ERROR if the result is FAILURE and in TERMINATED otherwise.
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
 * The moves a kernel may make. It has more than its session has: an agent may be ahead of the scheduler (a short
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

/** The session table as a Mermaid state diagram; docs/concepts.md carries it and a test compares the two. */
export function transitionDiagram(): string {
  const lines = ['stateDiagram-v2', '  [*] --> PENDING']
  for (const [from, targets] of Object.entries(SESSION_TRANSITIONS)) {
    for (const to of targets) lines.push(`  ${from} --> ${to}`)
    if (targets.length === 0) lines.push(`  ${from} --> [*]`)
  }
  return lines.join('\n')
}

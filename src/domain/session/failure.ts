import type { ProgramVerdict } from './program-verdict.ts'

/**
 * What ended a session or kept a kernel from starting, as reported by agents and handlers and as stored in
 * `sessions.status_data` and `kernels.error`.
 */
export interface FailureError {
  name: FailureName
  message: string
  agentId?: string
  exitCode?: number
  /** What the program says of it. */
  verdict?: ProgramVerdict
}

/** `sessions.status_data`: the envelope that `classifyFailure` reads. */
export interface StatusData {
  error: FailureError
  /** The kernel whose end this is, as `sub2`, if one decided; changes while other kernels still end. */
  kernel?: string
}

/** Open on purpose: a well-formed error of another name is classified as UNKNOWN. */
export type FailureName = KnownFailureName | (string & {})

export type KnownFailureName = (typeof FAILURE_NAMES)[number]

export const FAILURE_NAMES = [
  'agent-lost',
  'agent-fenced',
  'kernel-vanished',
  'scheduler-timeout',
  'image-pull-failed',
  'kernel-exited',
  'task-timeout',
  'oom-killed',
  'chain-directory-full',
  'executor-failed',
  'secrets-unreadable',
  'route-ended',
  'kernels-missing',
  'environment-too-large',
  'user-cancelled',
  'validation-failed',
  'quota-exceeded',
  'dependency-failed',
] as const

import { CAUSE_OF_FAILURE } from './causes.ts'
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
  /** The program's own verdict. */
  verdict?: ProgramVerdict
}

/** `sessions.status_data`: the envelope that `classifyFailure` reads. */
export interface StatusData {
  error: FailureError
  /** The kernel whose end this is, as `sub2`, if one decided; changes while other kernels still end. */
  kernel?: string
}

/** Open on purpose: a well-formed error of another name is classified as UNKNOWN. */
export type FailureName = keyof typeof CAUSE_OF_FAILURE | (string & {})

export const FAILURE_NAMES = Object.keys(CAUSE_OF_FAILURE)

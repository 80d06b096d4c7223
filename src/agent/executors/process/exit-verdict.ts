import type { FailureError } from '../../../domain/session/failure.ts'
import type { OomMark } from './kernel-directory.ts'

export interface ExitEvidence {
  /** From the shim; null where it left none. */
  exitCode: number | null
  stopOrdered: boolean
  /** Why, where the agent itself ordered it. */
  stopError: FailureError | null
  /** From the cgroup. */
  oomKills: number
  /** From the watcher. */
  oomMark: OomMark | null
  memoryLimitBytes: number | null
}

export interface ExitVerdict {
  exitCode: number | null
  oomKilled: boolean
  error: FailureError | null
}

const SIGKILLED = 137

/** What a kernel that ran is reported to have come to. */
export function judgeExit(evidence: ExitEvidence): ExitVerdict {
  const { exitCode, stopError } = evidence
  // One that heeds SIGTERM may well leave with 0, its work half done.
  if (exitCode === 0 && stopError !== null) return { exitCode, oomKilled: false, error: stopError }
  // One that lost a child to the limit and ended well all the same has ended well.
  if (exitCode === 0) return { exitCode, oomKilled: false, error: null }
  if (evidence.oomKills > 0 || (evidence.oomMark !== null && exitCode === null)) {
    const error = { name: 'oom-killed', message: oomMessage(evidence) }
    return { exitCode: exitCode ?? SIGKILLED, oomKilled: true, error }
  }
  if (exitCode !== null) return { exitCode, oomKilled: false, error: stopError }
  if (evidence.stopOrdered) return { exitCode: SIGKILLED, oomKilled: false, error: stopError }
  const message = 'the process is gone and left no exit status'
  return { exitCode: null, oomKilled: false, error: { name: 'kernel-vanished', message } }
}

function oomMessage({ oomMark, memoryLimitBytes }: ExitEvidence): string {
  if (oomMark !== null) return `used ${oomMark.usedBytes} bytes of memory, more than its ${oomMark.limitBytes}`
  return `ran out of its ${memoryLimitBytes ?? '?'} bytes of memory`
}

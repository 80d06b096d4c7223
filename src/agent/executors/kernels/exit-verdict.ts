import type { FailureError } from '../../../domain/session/failure.ts'
import { SIGKILLED } from '../executor.ts'
import type { OomMark } from './kernel-directory.ts'
import { join } from 'node:path'
import { VERDICT_BYTES_MAX } from '../../../domain/limits.ts'
import { faulty, parseProgramVerdict, type ProgramVerdict } from '../../../domain/session/program-verdict.ts'
import { openRegularFile } from '../../control-file.ts'

export interface ExitEvidence {
  /** From the shim; null if the shim left none. */
  exitCode: number | null
  stopOrdered: boolean
  /** Reason of the stop, if the agent itself ordered it. */
  stopError: FailureError | null
  /** From the cgroup. */
  oomKills: number
  /** From the watcher. */
  oomMark: OomMark | null
  memoryLimitBytes: number | null
  /** Why no program could be run; null if there was one. */
  missing: string | null
  /** Explains a failure that nothing else explains, if its output does. */
  explained?: () => FailureError | null
}

export interface ExitVerdict {
  exitCode: number | null
  oomKilled: boolean
  error: FailureError | null
}

/** Decides how the end of a kernel that ran is reported. */
export function judgeExit(evidence: ExitEvidence): ExitVerdict {
  const { exitCode, stopError } = evidence
  // A program that handles SIGTERM may exit with 0 although its work is incomplete.
  if (exitCode === 0 && stopError !== null) return { exitCode, oomKilled: false, error: stopError }
  // A program that lost a child process to the memory limit but exited with 0 has succeeded.
  if (exitCode === 0) return { exitCode, oomKilled: false, error: null }
  if (evidence.oomKills > 0 || (evidence.oomMark !== null && exitCode === null)) {
    const error = { name: 'oom-killed', message: oomMessage(evidence) }
    return { exitCode: exitCode ?? SIGKILLED, oomKilled: true, error }
  }
  if (exitCode !== null && stopError === null && !evidence.stopOrdered && evidence.missing !== null) {
    return { exitCode, oomKilled: false, error: { name: 'command-not-found', message: evidence.missing, exitCode } }
  }
  if (exitCode !== null) {
    const explained = stopError === null && !evidence.stopOrdered ? evidence.explained?.() : null
    return { exitCode, oomKilled: false, error: stopError ?? explained ?? null }
  }
  if (evidence.stopOrdered) return { exitCode: SIGKILLED, oomKilled: false, error: stopError }
  const message = 'the process is gone and left no exit status'
  return { exitCode: null, oomKilled: false, error: { name: 'kernel-vanished', message } }
}

function oomMessage({ oomMark, memoryLimitBytes }: ExitEvidence): string {
  if (oomMark !== null) return `used ${oomMark.usedBytes} bytes of memory, more than its ${oomMark.limitBytes}`
  return `ran out of its ${memoryLimitBytes ?? '?'} bytes of memory`
}

/** The path of the verdict file. It lies in the working directory, which every isolation lets the program write. */
export function verdictPath(kernelPath: string): string {
  return join(kernelPath, 'work', '.reprise-verdict.json')
}

/** Never rejects. @returns null if the program wrote no verdict */
export async function readVerdict(kernelPath: string): Promise<ProgramVerdict | null> {
  try {
    await using file = await openRegularFile(verdictPath(kernelPath))
    const buffer = Buffer.alloc(VERDICT_BYTES_MAX + 1)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    if (bytesRead > VERDICT_BYTES_MAX) return faulty(`it is larger than ${VERDICT_BYTES_MAX} bytes`)
    return parseProgramVerdict(buffer.toString('utf8', 0, bytesRead))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT'
      ? null
      : faulty(code === undefined ? 'it is not a regular file' : `it cannot be read (${code})`)
  }
}

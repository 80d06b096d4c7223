import type { FailureError } from '../../../domain/session/failure.ts'
import { SIGKILLED } from '../executor.ts'
import type { OomMark } from './kernel-directory.ts'
import { join } from 'node:path'
import { VERDICT_BYTES_MAX } from '../../../domain/limits.ts'
import { faulty, parseProgramVerdict, type ProgramVerdict } from '../../../domain/session/program-verdict.ts'
import { openRegularFile } from '../../control-file.ts'
import { describeBytes } from '../../../domain/amounts.ts'

export interface ExitEvidence {
  /** The exit code of the command, from the shim or the container engine; null if none is known. */
  exitCode: number | null
  stopOrdered: boolean
  /** Reason of the stop, if the agent itself ordered it. */
  stopError: FailureError | null
  /** Number of processes that were killed at the memory limit, from the cgroup; for containers, 1 or 0. */
  oomKills: number
  /** Written by the memory watch if it killed the kernel; null otherwise. */
  oomMark: OomMark | null
  memoryLimitBytes: number | null
  /** The reason why the command's program could not be run; null if it could. */
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
  // A shell exits with 0 if the last process of a pipeline does, although another one was killed.
  if (evidence.oomKills > 0 || (evidence.oomMark !== null && exitCode === null)) {
    return { exitCode: exitCode ?? SIGKILLED, oomKilled: true, error: outOfMemoryError(evidence) }
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

/** The error of a kernel of which the lack of memory has killed a process, or all. */
export function outOfMemoryError({
  exitCode,
  oomMark = null,
  memoryLimitBytes,
}: Pick<ExitEvidence, 'exitCode' | 'memoryLimitBytes'> & { oomMark?: OomMark | null }): FailureError {
  const message =
    oomMark !== null
      ? `used ${describeBytes(oomMark.usedBytes)} of memory, more than its ${describeBytes(oomMark.limitBytes)}`
      : `ran out of ${memoryLimitBytes === null ? '' : `its ${describeBytes(memoryLimitBytes)} of `}memory`
  const still = exitCode === 0 ? ': a process of it was killed, although the command exited with 0' : ''
  return { name: 'oom-killed', message: `${message}${still}` }
}

/** The verdict file's name in the working directory, which every isolation lets the program write. */
export const VERDICT_FILE = '.reprise-verdict.json'

/** The progress file's name there. */
export const PROGRESS_FILE = '.reprise-progress'

/** Never rejects. @returns null if the program wrote no verdict */
export async function readVerdict(kernelPath: string): Promise<ProgramVerdict | null> {
  try {
    await using file = await openRegularFile(join(kernelPath, 'work', VERDICT_FILE), { single: true })
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

import { createHash } from 'node:crypto'
import { REASON_LENGTH_MAX } from '../limits.ts'
import type { FailureCause, FailureError } from '../session/failure.ts'
import { chooseFailureLines } from './failure-lines.ts'
import { MASK_VERSION, maskLine } from './mask-lines.ts'

/** What a failed attempt is grouped by. */
export interface FailureFacts {
  cause: FailureCause
  exitCode: number | null
  /** The error that ended the attempt; null if none is known. */
  error: FailureError | null
  /** The end of the log of the kernel that decided. */
  log: string
  /** Whether successful runs of the same name print this masked line, too. */
  isUsual: (masked: string) => boolean
}

export interface Fingerprint {
  /** Equal for failures of one group. */
  fingerprint: string
  version: number
  /** A line for people. */
  title: string
  /** The lines that it was made of, as they were written. */
  lines: string[]
  masked: string[]
}

/** Failures that the program itself explains in its log. All others are explained by their message. */
const EXPLAINED_BY_LOG: readonly string[] = ['kernel-exited', 'gpu-memory']

/**
 * Makes the fingerprint of a failed attempt. Pure: the same facts give the same fingerprint. A program may give its own
 * in its verdict file, and that takes precedence over what its log says.
 */
export function fingerprintOf({ cause, exitCode, error, log, isUsual }: FailureFacts): Fingerprint {
  const own = error?.verdict?.fingerprint ?? null
  if (own !== null) {
    return { fingerprint: digest(['own', own]), version: MASK_VERSION, title: own, lines: [own], masked: [own] }
  }
  const reason = error?.verdict?.reason ?? null
  const isOfProgram = error === null || EXPLAINED_BY_LOG.includes(error.name)
  const lines =
    reason !== null
      ? [reason]
      : isOfProgram
        ? chooseFailureLines(log, isUsual).lines
        : [error.message.slice(0, REASON_LENGTH_MAX)]
  const masked = lines.map(maskLine)
  const name = error === null || isOfProgram ? '' : error.name
  const code = isOfProgram ? exitCode : null
  const title = lines[0] ?? (exitCode === null ? cause.toLowerCase().replaceAll('_', ' ') : `exit code ${exitCode}`)
  return { fingerprint: digest([cause, name, code, masked]), version: MASK_VERSION, title, lines, masked }
}

function digest(parts: unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([MASK_VERSION, ...parts]))
    .digest('base64url')
    .slice(0, 27)
}

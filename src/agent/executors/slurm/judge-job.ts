import type { FailureError } from '../../../domain/session/failure.ts'
import { FENCED, SIGKILLED } from '../executor.ts'
import { outOfMemoryError } from '../kernels/exit-verdict.ts'
import type { JobRow, JobStatus } from './slurm-status.ts'

/**
 * The evidence about a kernel: its `status`, and Slurm's row of its job. `status` decides whether and how the command
 * ran, and Slurm only adds the cause. A missing answer of Slurm is never an end by itself.
 */
export interface JobEvidence {
  status: JobStatus
  /** null: squeue answered twice in a row and did not list it. 'unknown': not asked since, or Slurm does not answer. */
  row: JobRow | null | 'unknown'
  /** Whether Slurm has started the job another time after it began. That start found the claim, and left a mark. */
  startedAgain: () => boolean
  /** How long the row has been in its state, or has been missing. */
  rowAgeMs: number
  /** Time since the last line of `status` was written; null if it has no last line. */
  endedForMs: number | null
  /** A stop was ordered, by the server or by the agent itself. */
  stopOrdered: boolean
  /** Reason of the stop, if the agent itself ordered it. */
  stopError: FailureError | null
  memoryLimitBytes: number | null
  /** Returns the last line that Slurm itself wrote for the job. */
  slurmOutput: () => string
  /** Returns why the command could not be run; null if it could. */
  whyNotRun: () => string | null
  /** Explains a failure by a lack of GPU memory; null if the output does not say so. */
  ofGpuMemory: () => FailureError | null
}

export type JobVerdict =
  /** The job has not begun, and continues to wait for this reason. */
  | { kind: 'waits'; reason: string | null }
  | { kind: 'runs' }
  /**
   * The job ended without having begun. The caller creates its claim first. If the claim exists already, the caller
   * judges again.
   */
  | { kind: 'not-run'; again: boolean; error: FailureError }
  | { kind: 'ended'; exitCode: number | null; oomKilled: boolean; error: FailureError | null; gone: boolean }

/**
 * How long Slurm may report a job as running or completing before its `status` must exist: files of other nodes come
 * late.
 */
export const BEGIN_WAIT_MS = 60_000
/** How long to wait for the cause of a failure once the exit code is known. */
export const CAUSE_WAIT_MS = 10_000
/** How long to wait for the exit line of an ended job: network file systems show another node's line late. */
export const EXIT_LINE_WAIT_MS = 10_000

export const WAITING: ReadonlySet<string> = new Set([
  'PENDING',
  'CONFIGURING',
  'REQUEUED',
  'REQUEUE_HOLD',
  'REQUEUE_FED',
  'RESV_DEL_HOLD',
  'SPECIAL_EXIT',
])
const LIVE = new Set(['RUNNING', 'COMPLETING', 'SUSPENDED', 'STOPPED', 'SIGNALING', 'STAGE_OUT', 'RESIZING'])
const NODE_LOST = new Set(['NODE_FAIL', 'BOOT_FAIL'])

export function judgeJob(evidence: JobEvidence): JobVerdict {
  const { status, row } = evidence
  if (status.never) return { kind: 'not-run', again: false, error: vanished('its start was given up') }
  if (status.exitCode === null && status.killed) return ended(SIGKILLED, ownStop(evidence))
  if (status.exitCode !== null) return judgeExit(evidence, status.exitCode)
  if (!status.claimed) return judgeUnbegun(evidence)
  if (row === 'unknown') return { kind: 'runs' }
  return judgeSilent(evidence, row)
}

function judgeUnbegun({ row, rowAgeMs, slurmOutput }: JobEvidence): JobVerdict {
  if (row === 'unknown') return { kind: 'waits', reason: null }
  if (row === null) return notRun(true, vanished('Slurm does not know its job any more, and it never began'))
  const { state, reason } = row
  if (WAITING.has(state)) return { kind: 'waits', reason: reason || state }
  if (LIVE.has(state)) {
    if (rowAgeMs <= BEGIN_WAIT_MS) return { kind: 'waits', reason: null }
    return notRun(true, vanished('Slurm calls its job running, but it never began'))
  }
  // Files of another node come late on a network file system.
  if (rowAgeMs < EXIT_LINE_WAIT_MS && state !== 'CANCELLED' && state !== 'DEADLINE')
    return { kind: 'waits', reason: null }
  if (state === 'CANCELLED') return notRun(false, cancelled())
  if (state === 'DEADLINE')
    return notRun(false, { name: 'scheduler-timeout', message: 'Slurm did not start its job before its deadline' })
  if (reason === 'JobLaunchFailure') {
    return notRun(false, { name: 'executor-failed', message: slurmOutput() || 'Slurm could not launch its job' })
  }
  if (NODE_LOST.has(state)) return notRun(true, nodeFailed(row))
  if (state === 'PREEMPTED') return notRun(true, preempted())
  return notRun(true, vanished(`its job ended as ${state} before it began`))
}

function judgeExit(evidence: JobEvidence, exitCode: number): JobVerdict {
  const { status, row, stopOrdered, stopError, endedForMs } = evidence
  if (stopOrdered || status.fenced) return ended(exitCode, ownStop(evidence))
  // The job itself counts the kills, so that a success need not wait for Slurm's row.
  if (status.oomKilled && !status.signalled) return outOfMemory(evidence, exitCode)
  if (exitCode === 0 && !status.signalled) {
    const isOfMemory = row !== 'unknown' && row?.state === 'OUT_OF_MEMORY'
    return isOfMemory && stopError === null ? outOfMemory(evidence, 0) : ended(0, stopError)
  }
  if (status.signalled && row !== 'unknown' && row !== null && (WAITING.has(row.state) || row.restarts > 0)) {
    return ended(exitCode, cancelled('somebody made Slurm start its job again'))
  }
  const final = row !== 'unknown' && row !== null && !LIVE.has(row.state) && !WAITING.has(row.state)
  if (!final) return (endedForMs ?? 0) < CAUSE_WAIT_MS ? { kind: 'runs' } : endedByItself(evidence, exitCode)
  if (row.state === 'OUT_OF_MEMORY' && exitCode !== 0) return outOfMemory(evidence, exitCode)
  if (row.state === 'PREEMPTED') return ended(exitCode, preempted())
  if (row.state === 'TIMEOUT') return ended(exitCode, timedOut())
  if (row.state === 'CANCELLED') return ended(exitCode, cancelled())
  return endedByItself(evidence, exitCode)
}

function endedByItself({ whyNotRun, ofGpuMemory }: JobEvidence, exitCode: number): JobVerdict {
  const message = whyNotRun()
  return ended(exitCode, message === null ? ofGpuMemory() : { name: 'command-not-found', message, exitCode })
}

/** Judges a job that began, and whose end no line reports. */
function judgeSilent(evidence: JobEvidence, row: JobRow | null): JobVerdict {
  const { status, startedAgain, stopOrdered, rowAgeMs } = evidence
  const waits = row !== null && WAITING.has(row.state)
  const requeued = status.began !== null && row !== null && (waits || (row.restarts > 0 && row.state !== 'COMPLETING'))
  // Slurm ends the program before it requeues the job, and the exit line may come late.
  if (startedAgain() || (requeued && rowAgeMs >= EXIT_LINE_WAIT_MS)) {
    return lost({ name: 'node-failed', message: 'Slurm has started its job another time' })
  }
  // The job is about to begin; the row belongs to another job of its name.
  if (waits) return { kind: 'runs' }
  if (row !== null && LIVE.has(row.state)) return { kind: 'runs' }
  if (rowAgeMs < EXIT_LINE_WAIT_MS) return { kind: 'runs' }
  if (row === null) {
    return lost(vanished('Slurm does not know its job any more, and it left no exit status'))
  }
  if (NODE_LOST.has(row.state)) return lost(nodeFailed(row))
  if (row.state === 'OUT_OF_MEMORY') return outOfMemory(evidence, SIGKILLED)
  if (stopOrdered || status.fenced) return ended(SIGKILLED, ownStop(evidence))
  if (row.state === 'TIMEOUT') return ended(null, timedOut())
  if (row.state === 'PREEMPTED') return ended(null, preempted())
  if (row.state === 'CANCELLED') return ended(null, cancelled())
  return ended(null, vanished(`its job ended as ${row.state} and left no exit status`))
}

function ownStop({ status, stopError }: JobEvidence): FailureError | null {
  return stopError ?? (status.fenced ? FENCED : null)
}

function outOfMemory({ memoryLimitBytes }: JobEvidence, exitCode: number): JobVerdict {
  return {
    kind: 'ended',
    exitCode,
    oomKilled: true,
    error: outOfMemoryError({ exitCode, memoryLimitBytes }),
    gone: true,
  }
}

function ended(exitCode: number | null, error: FailureError | null): JobVerdict {
  return { kind: 'ended', exitCode, oomKilled: false, error, gone: true }
}

/** Reports the end with `gone: false`, because the kernel's processes may still live on a node that is out of reach. */
function lost(error: FailureError): JobVerdict {
  return { kind: 'ended', exitCode: null, oomKilled: false, error, gone: false }
}

function notRun(again: boolean, error: FailureError): JobVerdict {
  return { kind: 'not-run', again, error }
}

function vanished(message: string): FailureError {
  return { name: 'kernel-vanished', message }
}

function nodeFailed({ node, state }: JobRow): FailureError {
  return { name: 'node-failed', message: `Slurm lost its node ${node} (${state})` }
}

function preempted(): FailureError {
  return { name: 'preempted', message: 'Slurm preempted its job' }
}

function cancelled(message = 'somebody cancelled its job in Slurm'): FailureError {
  return { name: 'cancelled-outside', message }
}

function timedOut(): FailureError {
  return { name: 'task-timeout', message: 'its job reached its time limit in Slurm' }
}

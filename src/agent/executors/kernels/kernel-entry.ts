import type { FoundCheckpoint, LeftCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { KernelUsage } from '../../../domain/agent/kernel-report.ts'
import type { KernelSpec, LogStreamName, ObservedKernel, ObservedStatus } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import type { ProgramVerdict } from '../../../domain/session/program-verdict.ts'
import type { OomMark } from './kernel-directory.ts'
import { endedInTime, type TimedKernel } from '../time-limit.ts'

/**
 * The phases of one kernel in memory:
 *
 *   PREPARING → PULLING → PREPARED → LAUNCHING → RUNNING → EXITED    all but RUNNING and EXITED also → FAILED
 *   PREPARING, PULLING, PREPARED, LAUNCHING → EXITED by a stop (never ran)
 *   any → REMOVED: no longer observed; its directory is being removed
 *
 * PULLING is skipped if nothing has to be fetched. LAUNCHING lasts from the order until the command has begun, and is
 * reported to the server as PREPARED.
 */
export type Phase = 'PREPARING' | 'PULLING' | 'PREPARED' | 'LAUNCHING' | 'RUNNING' | 'FAILED' | 'EXITED' | 'REMOVED'

export interface Successor {
  spec: KernelSpec
  assignment: number
  startWanted: boolean
}

/** The state of a kernel that is the same for all executors. An executor adds its own fields. */
export interface KernelEntry extends TimedKernel {
  readonly id: string
  readonly assignment: number
  spec: KernelSpec
  /** The kernel's directory. */
  readonly path: string
  /**
   * The directory of `status`, `stdout` and `stderr`: the kernel's directory, or one in it that the kernel's user owns.
   */
  outputPath: string
  phase: Phase
  startWanted: boolean
  /** Identifies the launch. It is part of the run script's name. */
  token: string
  /**
   * The order has been handed to what runs the kernel. From here on, only the claim in `status` decides whether the
   * command runs.
   */
  handedOver: boolean
  /** The progress of its preparation, or the reason why its launch waits, as text for people. */
  note: string | null
  /** Wall-clock time of the SIGKILL, once a stop is ordered. */
  killAt: number | null
  /** The reason for the stop, if the agent itself ordered it. */
  stopError: FailureError | null
  /** Its processes were asked to end. Most programs take a second SIGTERM as an order to give up at once. */
  asked: boolean
  /** Set when this instance has killed the kernel for its use of memory. */
  exceededMemory: OomMark | null
  /** True if it ended after the server had ordered its stop. */
  stopped: boolean
  /**
   * In EXITED: whether processes of the kernel may still run, out of the agent's reach. The kernel is removed only once
   * that is impossible.
   */
  lingers: boolean
  /**
   * In EXITED: its checkpoint is being sent to the servers. Until that ends, the kernel is neither removed nor reported
   * as gone.
   */
  relaying: boolean
  removing: boolean
  successor: Successor | null
  /** The operation in progress on the directory, which a removal must wait for. */
  busy: Promise<void>
  /** What is known of its program's progress. */
  readonly progress: Progress
  nextLogCheckAt: number
  logPauseMs: number
  readonly logSizes: Record<LogStreamName, number>
  /** The disk was full when it ended. OUTPUT_LOST is appended to its reported output, but to no file. */
  outputLost: boolean
  exitCode: number | null
  oomKilled: boolean
  error: FailureError | null
  usage: KernelUsage | null
  /** The verdict that its program wrote. */
  verdict: ProgramVerdict | null
  /** The checkpoint that earlier attempts had left in the chain's directory; null if there was none. */
  found: FoundCheckpoint | null
  /** Why the servers' copy of the checkpoint could not be fetched, as text for people. */
  fetchFault: string | null
  /** The checkpoint in the chain's directory at the kernel's end; null if there is nothing to report. */
  left: LeftCheckpoint | null
  /** Its program wrote outputs for which its session did not ask. */
  leftOutputs: boolean
  /**
   * The kernel has ended, but its verdict file or its chain's directory is still being read. Until that is done, it is
   * reported as running.
   */
  endPending: boolean
  /** The start that its program's environment contains; null before it, and if an earlier instance launched it. */
  beginsAt: Date | null
  startedAt: string | null
  endedAt: string | null
  /** Chosen and stored before the directory is created. */
  port: number | null
}

/** The progress of one kernel's program. Times are in ms of the monotonic clock, which stands still in a suspension. */
export interface Progress {
  /** The last line of its progress file; null if it has written none. */
  line: string | null
  /** The line in the reports about it, which follows the file with pauses. */
  reported: string | null
  reportedAt: number
  /** Identifies the state of the progress file that was read last. */
  fileState: string
  /** Bytes of output that were seen last. */
  logBytes: number
  /** Number of checkpoints that its program has published, and the number that was seen last. */
  published: number
  publishedSeen: number
  /** How long it has made no progress, as far as this instance of the agent has watched it. */
  silentMs: number
  lookedAt: number | null
  /** Set once it counts as hung. */
  hung: FailureError | null
  /** Its `onHang` command, until it has ended and was read. */
  onHang: Promise<unknown> | null
  /** Output of its `onHang` command, which its log gets at its end. */
  readonly hangOutput: Uint8Array[]
}

function newProgress(): Progress {
  return {
    line: null,
    reported: null,
    reportedAt: Number.NEGATIVE_INFINITY,
    fileState: '',
    logBytes: 0,
    published: 0,
    publishedSeen: 0,
    silentMs: 0,
    lookedAt: null,
    hung: null,
    onHang: null,
    hangOutput: [],
  }
}

export function newKernelEntry(spec: KernelSpec, assignment: number, path: string): KernelEntry {
  return {
    id: spec.kernelId,
    assignment,
    spec,
    path,
    outputPath: path,
    phase: 'PREPARING',
    startWanted: false,
    token: '',
    handedOver: false,
    note: null,
    killAt: null,
    beganAt: null,
    stopAt: null,
    ranSeconds: null,
    stopError: null,
    asked: false,
    exceededMemory: null,
    stopped: false,
    lingers: false,
    relaying: false,
    removing: false,
    successor: null,
    busy: Promise.resolve(),
    progress: newProgress(),
    nextLogCheckAt: 0,
    logPauseMs: 0,
    logSizes: { STDOUT: 0, STDERR: 0 },
    outputLost: false,
    exitCode: null,
    oomKilled: false,
    error: null,
    usage: null,
    verdict: null,
    found: null,
    fetchFault: null,
    left: null,
    leftOutputs: false,
    endPending: false,
    beginsAt: null,
    startedAt: null,
    endedAt: null,
    port: null,
  }
}

/** Marks a place where output is missing, or may be: it is unknown what the program would have written. */
export const OUTPUT_LOST = "\n[reprise: the agent's disk was full; output may be missing here]\n"

export function hasEnded({ phase }: KernelEntry): boolean {
  return phase === 'EXITED' || phase === 'FAILED' || phase === 'REMOVED'
}

/** Whether the program itself has failed. Its verdict applies to its own failures, not to stops. */
export function isOwnFailure({ exitCode, oomKilled, error, removing }: KernelEntry): boolean {
  if (removing) return false
  return oomKilled || (exitCode !== null && exitCode !== 0 && error === null)
}

export function observeKernel(kernel: KernelEntry): ObservedKernel {
  const { id: kernelId, assignment, startedAt, port } = kernel
  const phase = kernel.endPending && kernel.phase === 'EXITED' ? 'RUNNING' : kernel.phase
  const status = phase === 'LAUNCHING' ? 'PREPARED' : (phase as ObservedStatus)
  const { fetchFault } = kernel
  const found =
    kernel.found?.state === 'MISSING' && fetchFault !== null ? { ...kernel.found, reason: fetchFault } : kernel.found
  const inTime = endedInTime(kernel, kernel.phase === 'RUNNING')
  const { reported: progressLine } = kernel.progress
  const told = {
    ...(found !== null && { foundCheckpoint: found }),
    ...(inTime !== undefined && { inTime }),
    ...(progressLine !== null && { progressLine }),
  }
  const common = { kernelId, assignment, status, startedAt, port, ...told }
  if (phase === 'RUNNING') return { ...common, exitCode: null, oomKilled: false, error: null, endedAt: null }
  const { exitCode, oomKilled, error, endedAt, verdict, stopped, usage, left } = kernel
  const { relaying, note, startWanted, removing } = kernel
  const how = {
    ...(startWanted && !removing && !hasEnded(kernel) && { starting: true }),
    ...(relaying && phase === 'EXITED' && { gone: false }),
    ...(phase === 'PULLING' && note !== null && { progress: note }),
    ...(phase === 'EXITED' && { stopped }),
    ...(verdict !== null && { verdict }),
    ...(usage !== null && { usage }),
    ...(left !== null && { leftCheckpoint: left }),
    ...(kernel.leftOutputs && { leftOutputs: true }),
  }
  return { ...common, exitCode, oomKilled, error, endedAt, ...how }
}

import type { FoundCheckpoint, LeftCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { KernelUsage } from '../../../domain/agent/kernel-usage.ts'
import type { KernelSpec, LogStreamName, ObservedKernel, ObservedStatus } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import type { ProgramVerdict } from '../../../domain/session/program-verdict.ts'
import type { UsageMark } from '../kernel-directory/kernel-directory.ts'
import type { ShimUsage } from '../kernel-directory/shim-status.ts'
import type { PulledImage } from './image-preset.ts'
import type { KernelCgroup } from './limits/kernel-cgroups.ts'

/**
 * The phases of one kernel in memory:
 *
 *   PREPARING → PREPARED → LAUNCHING → RUNNING → EXITED       all but RUNNING and EXITED also → FAILED
 *   PREPARING → PULLING → PREPARED if it has code
 *   PREPARING, PULLING, PREPARED, LAUNCHING → EXITED by a stop (never ran)
 *   any → REMOVED: no longer observed; its directory is being removed
 *
 * LAUNCHING lasts from the order until the shim reports that it has begun, and is reported to the server as PREPARED.
 */
export type Phase = 'PREPARING' | 'PULLING' | 'PREPARED' | 'LAUNCHING' | 'RUNNING' | 'FAILED' | 'EXITED' | 'REMOVED'

export interface Successor {
  spec: KernelSpec
  assignment: number
  startWanted: boolean
}

export interface ProcessKernel {
  readonly id: string
  readonly assignment: number
  spec: KernelSpec
  /** Its directory. */
  readonly path: string
  phase: Phase
  startWanted: boolean
  /** The fork server has the order. From here on, only the shim's claim decides whether the command runs. */
  handedOver: boolean
  /** Identifies the launch in the shim's messages. */
  token: string
  shim: { pid: number; startTicks: number } | null
  /** The shim writes to this instance's pipe; otherwise the agent polls for its end. */
  heard: boolean
  image: PulledImage | null
  /** The user that its command runs as; null for the agent's own. */
  uid: number | null
  /** Its processes have a PID namespace of their own, whose first process is not in the shim's group. */
  namespaced: boolean
  cgroup: KernelCgroup | null
  memoryLimitBytes: number | null
  /** Its command may have run outside its cgroup, whose meters then say nothing. */
  outside: boolean
  /** What its shim has read at the end. */
  used: ShimUsage | null
  /** What was seen of it while it ran, by this instance or an earlier one. */
  seen: UsageMark | null
  /** How much of that memory has been written down. */
  notedBytes: number
  /** This instance has seen it run, so that it knows when it ended. */
  watched: boolean
  usage: KernelUsage | null
  /** Wall-clock time of the SIGKILL, once a stop is ordered. */
  killAt: number | null
  /** The reason for the stop, if the agent itself ordered it. */
  stopError: FailureError | null
  /** It ended after the server had ordered its stop. */
  stopped: boolean
  /** The stop has still to reach the command, which did not take signals yet. */
  signalPending: boolean
  killed: boolean
  /** The shim has ended. Reported only once nothing that the command started is left. */
  ending: { exitCode: number | null; endedAt: string } | null
  /** A scan of all processes since the end of the shim has found nothing of it. */
  swept: boolean
  removing: boolean
  successor: Successor | null
  /** The operation in progress on the directory, which a removal must wait for. */
  busy: Promise<void>
  launchedAt: number
  nextLifeCheckAt: number
  nextLogCheckAt: number
  logPauseMs: number
  readonly logSizes: Record<LogStreamName, number>
  exitCode: number | null
  oomKilled: boolean
  error: FailureError | null
  /** The verdict of its program. */
  verdict: ProgramVerdict | null
  /** What earlier attempts had left in its chain's directory; null for nothing. */
  found: FoundCheckpoint | null
  /** What its chain had stored at its end; null if nothing is to be told. */
  left: LeftCheckpoint | null
  /** Its verdict file is being read, or its chain's directory; it is observed as running until then. */
  endPending: boolean
  startedAt: string | null
  endedAt: string | null
  /** Chosen before the directory is created, and stored there. */
  port: number | null
}

export function newProcessKernel(spec: KernelSpec, assignment: number, path: string): ProcessKernel {
  return {
    id: spec.kernelId,
    assignment,
    spec,
    path,
    phase: 'PREPARING',
    startWanted: false,
    handedOver: false,
    token: '',
    shim: null,
    heard: true,
    image: null,
    uid: null,
    namespaced: false,
    cgroup: null,
    memoryLimitBytes: memoryLimit(spec),
    outside: false,
    used: null,
    seen: null,
    notedBytes: 0,
    watched: false,
    usage: null,
    killAt: null,
    stopError: null,
    stopped: false,
    signalPending: false,
    killed: false,
    ending: null,
    swept: false,
    removing: false,
    successor: null,
    busy: Promise.resolve(),
    launchedAt: 0,
    nextLifeCheckAt: 0,
    nextLogCheckAt: 0,
    logPauseMs: 0,
    logSizes: { STDOUT: 0, STDERR: 0 },
    exitCode: null,
    oomKilled: false,
    error: null,
    verdict: null,
    found: null,
    left: null,
    endPending: false,
    startedAt: null,
    endedAt: null,
    port: null,
  }
}

export function memoryLimit(spec: KernelSpec): number | null {
  const bytes = Math.floor(Number(spec.resourceSlots['mem'] ?? 0))
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null
}

/** Null if it asks for none. */
export function cpus(spec: KernelSpec): number | null {
  const amount = Number(spec.resourceSlots['cpu'] ?? 0)
  return Number.isFinite(amount) && amount > 0 ? amount : null
}

export function hasEnded(kernel: ProcessKernel): boolean {
  return kernel.phase === 'EXITED' || kernel.phase === 'FAILED' || kernel.phase === 'REMOVED'
}

export function observeProcessKernel(kernel: ProcessKernel): ObservedKernel {
  const { id: kernelId, assignment, startedAt, port } = kernel
  const phase = kernel.endPending && kernel.phase === 'EXITED' ? 'RUNNING' : kernel.phase
  const status = phase === 'LAUNCHING' ? 'PREPARED' : (phase as ObservedStatus)
  const { found } = kernel
  const common = { kernelId, assignment, status, startedAt, port, ...(found !== null && { foundCheckpoint: found }) }
  if (phase === 'RUNNING') return { ...common, exitCode: null, oomKilled: false, error: null, endedAt: null }
  const { exitCode, oomKilled, error, endedAt, verdict, stopped, usage, left } = kernel
  const how = {
    ...(phase === 'EXITED' && { stopped }),
    ...(verdict !== null && { verdict }),
    ...(usage !== null && { usage }),
    ...(left !== null && { leftCheckpoint: left }),
  }
  return { ...common, exitCode, oomKilled, error, endedAt, ...how }
}

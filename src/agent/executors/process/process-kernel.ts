import type { KernelSpec, LogStreamName, ObservedKernel, ObservedStatus } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import type { PulledImage } from './image-preset.ts'

/**
 * One kernel in memory.
 *
 *   PREPARING → PREPARED → LAUNCHING → RUNNING → EXITED       each but RUNNING and EXITED may also → FAILED
 *   PREPARING, PREPARED, LAUNCHING → EXITED by a stop (never ran)
 *   any → REMOVED: no longer observed, its directory is going
 *
 * LAUNCHING lasts from the order until the shim says that it has begun, and is reported as PREPARED.
 */
export type Phase = 'PREPARING' | 'PREPARED' | 'LAUNCHING' | 'RUNNING' | 'FAILED' | 'EXITED' | 'REMOVED'

export interface Successor {
  spec: KernelSpec
  assignment: number
  startWanted: boolean
}

export interface ProcessKernel {
  readonly id: string
  readonly assignment: number
  readonly spec: KernelSpec
  /** Its directory. */
  readonly path: string
  phase: Phase
  startWanted: boolean
  /** The nursery was told; from here on only the shim, or winning its claim, tells whether the command ran. */
  handedOver: boolean
  /** Names the launch in the shim's messages. */
  token: string
  shim: { pid: number; startTicks: number } | null
  /** Its shim writes to this instance's pipe; else it is found out by looking. */
  heard: boolean
  image: PulledImage | null
  cgroup: string | null
  memoryLimitBytes: number | null
  /** Ordered to end: SIGKILL at this time of the wall clock. */
  killAt: number | null
  /** Why it was ordered to end, where the agent itself ordered it. */
  stopError: FailureError | null
  killed: boolean
  removing: boolean
  successor: Successor | null
  /** The directory's preparation, which a removal must wait out. */
  busy: Promise<void>
  launchedAt: number
  nextLifeCheckAt: number
  nextLogCheckAt: number
  logPauseMs: number
  readonly logSizes: Record<LogStreamName, number>
  exitCode: number | null
  oomKilled: boolean
  error: FailureError | null
  startedAt: string | null
  endedAt: string | null
  /** Chosen before its directory is made, and kept there. */
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
    cgroup: null,
    memoryLimitBytes: memoryLimit(spec),
    killAt: null,
    stopError: null,
    killed: false,
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
    startedAt: null,
    endedAt: null,
    port: null,
  }
}

export function memoryLimit(spec: KernelSpec): number | null {
  const bytes = Math.floor(Number(spec.resourceSlots['mem'] ?? 0))
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null
}

export function hasEnded(kernel: ProcessKernel): boolean {
  return kernel.phase === 'EXITED' || kernel.phase === 'FAILED' || kernel.phase === 'REMOVED'
}

export function observeProcessKernel(kernel: ProcessKernel): ObservedKernel {
  const { phase } = kernel
  return {
    kernelId: kernel.id,
    assignment: kernel.assignment,
    status: phase === 'LAUNCHING' ? 'PREPARED' : (phase as ObservedStatus),
    exitCode: kernel.exitCode,
    oomKilled: kernel.oomKilled,
    error: kernel.error,
    startedAt: kernel.startedAt,
    endedAt: kernel.endedAt,
    port: kernel.port,
  }
}

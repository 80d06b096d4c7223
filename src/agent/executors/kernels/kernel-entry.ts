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
 * PULLING is left out where nothing has to be fetched. LAUNCHING lasts from the order until the command has begun, and
 * is reported to the server as PREPARED.
 */
export type Phase = 'PREPARING' | 'PULLING' | 'PREPARED' | 'LAUNCHING' | 'RUNNING' | 'FAILED' | 'EXITED' | 'REMOVED'

export interface Successor {
  spec: KernelSpec
  assignment: number
  startWanted: boolean
}

/** What the kernel registry knows of a kernel, whatever runs it. An executor adds what it needs itself. */
export interface KernelEntry extends TimedKernel {
  readonly id: string
  readonly assignment: number
  spec: KernelSpec
  /** Its directory. */
  readonly path: string
  /** Has `status`, `stdout` and `stderr`: its directory, or one in there that belongs to the user who runs it. */
  outputPath: string
  phase: Phase
  startWanted: boolean
  /** Identifies the launch, and is in the name of its run script. */
  token: string
  /** What runs it has the order. From here on, only the claim in `status` decides whether the command runs. */
  handedOver: boolean
  /** How far its preparation is, or why its launch waits; for people. */
  note: string | null
  /** Wall-clock time of the SIGKILL, once a stop is ordered. */
  killAt: number | null
  /** The reason for the stop, if the agent itself ordered it. */
  stopError: FailureError | null
  /** What this instance has killed it for. */
  exceededMemory: OomMark | null
  /** It ended after the server had ordered its stop. */
  stopped: boolean
  /** With EXITED: something of it may still run, out of reach. It is not removed before that is ruled out. */
  lingers: boolean
  /** With EXITED: its checkpoint is on its way to the servers. It is not removed, and not called gone, before that ends. */
  relaying: boolean
  removing: boolean
  successor: Successor | null
  /** The operation in progress on the directory, which a removal must wait for. */
  busy: Promise<void>
  nextLogCheckAt: number
  logPauseMs: number
  readonly logSizes: Record<LogStreamName, number>
  /** The disk was full at its end: its output ends with OUTPUT_LOST, which is in no file. */
  outputLost: boolean
  exitCode: number | null
  oomKilled: boolean
  error: FailureError | null
  usage: KernelUsage | null
  /** The verdict of its program. */
  verdict: ProgramVerdict | null
  /** What earlier attempts had left in its chain's directory; null for nothing. */
  found: FoundCheckpoint | null
  /** Why the servers' copy of its checkpoint could not be had; for people. */
  fetchFault: string | null
  /** What its chain had stored at its end; null if nothing is to be told. */
  left: LeftCheckpoint | null
  /** Its verdict file is being read, or its chain's directory; it is observed as running until then. */
  endPending: boolean
  startedAt: string | null
  endedAt: string | null
  /** Chosen before the directory is created, and stored there. */
  port: number | null
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
    exceededMemory: null,
    stopped: false,
    lingers: false,
    relaying: false,
    removing: false,
    successor: null,
    busy: Promise.resolve(),
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
    endPending: false,
    startedAt: null,
    endedAt: null,
    port: null,
  }
}

/** Where output is missing, or may be: nobody can tell what a program would have written. */
export const OUTPUT_LOST = "\n[reprise: the agent's disk was full; output may be missing here]\n"

export function hasEnded({ phase }: KernelEntry): boolean {
  return phase === 'EXITED' || phase === 'FAILED' || phase === 'REMOVED'
}

export function observeKernel(kernel: KernelEntry): ObservedKernel {
  const { id: kernelId, assignment, startedAt, port } = kernel
  const phase = kernel.endPending && kernel.phase === 'EXITED' ? 'RUNNING' : kernel.phase
  const status = phase === 'LAUNCHING' ? 'PREPARED' : (phase as ObservedStatus)
  const { fetchFault } = kernel
  const found =
    kernel.found?.state === 'MISSING' && fetchFault !== null ? { ...kernel.found, reason: fetchFault } : kernel.found
  const inTime = endedInTime(kernel, kernel.phase === 'RUNNING')
  const told = { ...(found !== null && { foundCheckpoint: found }), ...(inTime !== undefined && { inTime }) }
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
  }
  return { ...common, exitCode, oomKilled, error, endedAt, ...how }
}

import type { KernelSpec, ObservedKernel } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { noopScript, type NoopScript } from './noop-script.ts'

export interface NoopKernel {
  readonly script: NoopScript
  readonly observed: ObservedKernel
  output: Buffer
  /** To be started as soon as it is prepared. */
  startWanted: boolean
  timer: NodeJS.Timeout | undefined
  /** As `performance.now()`. */
  killAt: number
  stopError: FailureError | null
}

/** Starts as PREPARED, or as PULLING if its script simulates a slow pull. */
export function newNoopKernel(spec: KernelSpec, assignment: number): NoopKernel {
  const script = noopScript(spec)
  return {
    script,
    observed: {
      kernelId: spec.kernelId,
      assignment,
      status: script.kind === 'exit' && script.pullMs > 0 ? 'PULLING' : 'PREPARED',
      exitCode: null,
      oomKilled: false,
      error: null,
      startedAt: null,
      endedAt: null,
      port: spec.portVariable === null ? null : portOf(script),
      stopped: false,
    },
    output: EMPTY,
    startWanted: false,
    timer: undefined,
    killAt: Number.POSITIVE_INFINITY,
    stopError: null,
  }
}

/** Unless the script names a port: a privileged port, different for consecutive kernels, on which nothing listens. */
function portOf(script: NoopScript): number {
  if (script.kind === 'hang' && script.port !== null) return script.port
  portsGiven += 1
  return 1 + (portsGiven % 1_023)
}

let portsGiven = 0

const EMPTY = Buffer.alloc(0)

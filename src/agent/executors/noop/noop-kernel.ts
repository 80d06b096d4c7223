import type { FailureError } from '../../../domain/session/failure.ts'
import type { KernelSpec, ObservedKernel } from '../../../domain/agent/protocol.ts'
import { noopScript, type NoopScript } from './noop-script.ts'

export interface NoopKernel {
  readonly script: NoopScript
  readonly observed: ObservedKernel
  output: Buffer
  /** To be started once it is prepared. */
  startWanted: boolean
  timer: NodeJS.Timeout | undefined
  /** Of `performance.now()`. */
  killAt: number
  stopError: FailureError | null
}

/** Prepared, unless it is told to pull for a while. */
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
    },
    output: EMPTY,
    startWanted: false,
    timer: undefined,
    killAt: Number.POSITIVE_INFINITY,
    stopError: null,
  }
}

/** Where nobody listens, if need be; each its own. */
function portOf(script: NoopScript): number {
  if (script.kind === 'hang' && script.port !== null) return script.port
  portsGiven += 1
  return 1 + (portsGiven % 1_023)
}

let portsGiven = 0

const EMPTY = Buffer.alloc(0)

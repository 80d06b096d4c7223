import type { KernelSpec, ObservedKernel } from '../../../domain/agent/protocol.ts'
import { noopScript, type NoopScript } from './noop-script.ts'

export interface NoopKernel {
  readonly script: NoopScript
  readonly observed: ObservedKernel
  output: Buffer
  timer: NodeJS.Timeout | undefined
  /** Of `performance.now()`. */
  killAt: number
}

/** Nothing has to be prepared. */
export function newNoopKernel(spec: KernelSpec, assignment: number): NoopKernel {
  return {
    script: noopScript(spec),
    observed: {
      kernelId: spec.kernelId,
      assignment,
      status: 'PREPARED',
      exitCode: null,
      oomKilled: false,
      error: null,
      startedAt: null,
      endedAt: null,
    },
    output: EMPTY,
    timer: undefined,
    killAt: Number.POSITIVE_INFINITY,
  }
}

const EMPTY = Buffer.alloc(0)

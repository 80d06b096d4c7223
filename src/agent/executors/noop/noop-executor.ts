import type { KernelSpec, LogStreamName } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import type { Executor, ExecutorHooks } from '../executor.ts'
import { SIGKILLED, SIGTERMED } from '../exit-codes.ts'
import { isOver } from '../is-over.ts'
import { readableText, utf8CutLength } from '../utf8-cut.ts'
import { newNoopKernel, type NoopKernel } from './noop-kernel.ts'

/**
 * For tests and benchmarks: simulated kernels, in memory only, that end as their command says. A restart loses them,
 * and the server then treats them as vanished. Changes are announced once per turn of the event loop.
 */
export function createNoopExecutor(hooks: ExecutorHooks): Executor {
  const kernels = new Map<string, NoopKernel>()
  let closed = false
  let changePending = false

  function changed(): void {
    if (changePending || closed) return
    changePending = true
    setImmediate(() => {
      changePending = false
      if (!closed) hooks.changed()
    })
  }

  function fail(kernel: NoopKernel, name: string, message: string): void {
    end(kernel, 'FAILED', null, { name, message })
  }

  function end(
    kernel: NoopKernel,
    status: 'FAILED' | 'EXITED',
    exitCode: number | null,
    error: FailureError | null,
  ): void {
    clearTimeout(kernel.timer)
    if (kernel.observed.status === 'RUNNING' && kernel.batchTimeoutMs !== null)
      kernel.observed.inTime = performance.now() - kernel.beganAt <= kernel.batchTimeoutMs
    Object.assign(kernel.observed, { status, exitCode, error, endedAt: new Date().toISOString() })
    kernel.observed.oomKilled = error?.name === 'oom-killed'
    changed()
  }

  function prepare(spec: KernelSpec, assignment: number): NoopKernel | null {
    const at = kernels.get(spec.kernelId)
    if (at !== undefined && at.observed.assignment > assignment) return null
    if (at !== undefined && at.observed.assignment === assignment) return at
    clearTimeout(at?.timer)
    const kernel = newNoopKernel(spec, assignment)
    kernels.set(spec.kernelId, kernel)
    if (kernel.script.kind === 'pull-fail') fail(kernel, 'image-pull-failed', `there is no image "${spec.image}"`)
    if (kernel.script.kind === 'prepare-fail') fail(kernel, 'executor-failed', 'told to fail its preparation')
    if (kernel.script.kind === 'exit' && kernel.script.pullMs > 0)
      kernel.timer = setTimeout(() => pulled(kernel), kernel.script.pullMs).unref()
    changed()
    return kernel
  }

  function pulled(kernel: NoopKernel): void {
    kernel.observed.status = 'PREPARED'
    changed()
    if (kernel.startWanted) run(kernel)
  }

  function start(spec: KernelSpec, assignment: number): void {
    const kernel = prepare(spec, assignment)
    if (kernel === null) return
    kernel.startWanted = true
    run(kernel)
  }

  function run(kernel: NoopKernel): void {
    if (kernel.observed.status !== 'PREPARED') return
    const { script } = kernel
    if (script.kind === 'start-fail') return fail(kernel, 'executor-failed', 'told to fail its start')
    kernel.observed.status = 'RUNNING'
    kernel.observed.startedAt = new Date().toISOString()
    kernel.beganAt = performance.now()
    changed()
    if (script.kind === 'oom')
      end(kernel, 'EXITED', SIGKILLED, { name: 'oom-killed', message: 'told to run out of memory' })
    if (script.kind === 'vanish') end(kernel, 'EXITED', null, { name: 'kernel-vanished', message: 'told to vanish' })
    if (script.kind !== 'exit' && script.kind !== 'hang') return
    kernel.output = Buffer.from(script.output)
    if (script.kind === 'hang') return
    if (script.afterMs === 0) return end(kernel, 'EXITED', script.exitCode, null)
    kernel.timer = setTimeout(() => end(kernel, 'EXITED', script.exitCode, null), script.afterMs).unref()
  }

  function stop(kernelId: string, assignment: number, graceMs: number, error: FailureError | null = null): void {
    const kernel = kernels.get(kernelId)
    if (kernel === undefined || kernel.observed.assignment > assignment) return
    if (kernel.observed.assignment < assignment) return forget(kernelId, assignment)
    if (isOver(kernel.observed)) return
    if (kernel.killAt === Number.POSITIVE_INFINITY) kernel.stopError = error
    kernel.observed.stopped = kernel.stopError === null
    if (kernel.observed.status !== 'RUNNING') return end(kernel, 'EXITED', null, error)
    const endsOnTerm = kernel.script.kind !== 'hang' || kernel.script.endsOnTerm
    if (endsOnTerm && graceMs > 0) return end(kernel, 'EXITED', SIGTERMED, kernel.stopError)
    const killAt = performance.now() + graceMs
    if (killAt >= kernel.killAt) return
    kernel.killAt = killAt
    clearTimeout(kernel.timer)
    kernel.timer = setTimeout(() => end(kernel, 'EXITED', SIGKILLED, kernel.stopError), graceMs).unref()
  }

  function forget(kernelId: string, assignment: number): void {
    const kernel = kernels.get(kernelId)
    if (kernel === undefined || kernel.observed.assignment > assignment) return
    clearTimeout(kernel.timer)
    kernels.delete(kernelId)
    changed()
  }

  return {
    name: 'noop',
    recover: async () => undefined,
    observe: () => Array.from(kernels.values(), ({ observed }) => ({ ...observed })),
    prepare: (spec, assignment) => void prepare(spec, assignment),
    start,
    stop,
    forget,
    logSizes(kernelId) {
      const kernel = kernels.get(kernelId)
      return { STDOUT: kernel?.output.length ?? 0, STDERR: 0, final: kernel === undefined || isOver(kernel.observed) }
    },
    readLog: async (kernelId, stream, offset, maxBytes) => readOutput(kernels.get(kernelId), stream, offset, maxBytes),
    async close() {
      closed = true
      for (const { timer } of kernels.values()) clearTimeout(timer)
    },
  }
}

function readOutput(kernel: NoopKernel | undefined, stream: LogStreamName, offset: number, maxBytes: number) {
  const output = stream === 'STDOUT' && kernel !== undefined ? kernel.output : Buffer.alloc(0)
  const ended = kernel === undefined || isOver(kernel.observed)
  const read = output.subarray(offset, offset + maxBytes)
  const bytes = ended && offset + read.length >= output.length ? read.length : utf8CutLength(read) || read.length
  return { text: readableText(read.subarray(0, bytes)), bytes, end: ended && offset + bytes >= output.length }
}

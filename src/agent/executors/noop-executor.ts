import type { KernelSpec, LogStreamName, ObservedKernel } from '../../domain/agent/protocol.ts'
import type { FailureError } from '../../domain/session/failure.ts'
import { type Executor, type ExecutorHooks, isOver, SIGKILLED, SIGTERMED } from './executor.ts'
import { readableText, utf8CutLength } from './kernels/kernel-logs.ts'

interface NoopKernel {
  readonly script: NoopScript
  readonly observed: ObservedKernel
  output: Buffer
  /** The kernel starts as soon as it is prepared. */
  startWanted: boolean
  timer: NodeJS.Timeout | undefined
  /** Time of `performance.now()` at which a stopped kernel is killed. */
  killAt: number
  stopError: FailureError | null
  /** Time of `performance.now()` at which the kernel began to run. */
  beganAt: number
  /**
   * See TimedKernel. Measured by `performance.now()`, which is enough because a simulated kernel survives no restart.
   */
  batchTimeoutMs: number | null
}

/** Starts as PREPARED, or as PULLING if its script simulates a slow pull. */
function newNoopKernel(spec: KernelSpec, assignment: number): NoopKernel {
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
    beganAt: 0,
    batchTimeoutMs: spec.batchTimeoutMs ?? null,
  }
}

/**
 * The port that the script names, or else a privileged port on which nothing listens, different for consecutive
 * kernels.
 */
function portOf(script: NoopScript): number {
  if (script.kind === 'hang' && script.port !== null) return script.port
  portsGiven += 1
  return 1 + (portsGiven % 1_023)
}

let portsGiven = 0

const EMPTY = Buffer.alloc(0)

/**
 * What a `noop` kernel does, according to its command:
 *
 *   noop                         success at once; likewise any other program
 *   noop exit <code>             that exit code at once
 *   noop sleep <ms> [code]       ends after a while
 *   noop slow-start <ms> [code]  pulls its image for that long, then as exit
 *   noop hang                    prints "ready" and runs until it is stopped
 *   noop serve <port>            as hang, and reports that it serves on that port
 *   noop stubborn                as hang, but ignores SIGTERM
 *   noop oom                     runs out of memory
 *   noop vanish                  disappears without an exit code
 *   noop print <text> [code]     writes a line to STDOUT and ends
 *   noop succeed-at <attempt>    exits with 1 before that attempt, with 0 from it on
 *   noop prepare-fail | start-fail
 *
 * The image `missing` cannot be pulled.
 */
type NoopScript =
  | { kind: 'exit'; exitCode: number; pullMs: number; afterMs: number; output: string }
  | { kind: 'hang'; endsOnTerm: boolean; output: string; port: number | null }
  | { kind: 'oom' | 'vanish' | 'pull-fail' | 'prepare-fail' | 'start-fail' }

function noopScript(spec: KernelSpec): NoopScript {
  const [program, word = '', first, second] = spec.command
  if (spec.image === 'missing') return { kind: 'pull-fail' }
  if (program !== 'noop') return exit(0)
  switch (word) {
    case 'exit':
      return exit(integer(first))
    case 'sleep':
      return { ...exit(integer(second)), afterMs: integer(first) }
    case 'slow-start':
      return { ...exit(integer(second)), pullMs: integer(first) }
    case 'print':
      return { ...exit(integer(second)), output: `${first ?? ''}\n` }
    case 'succeed-at':
      return exit(spec.attempt >= integer(first) ? 0 : 1)
    case 'hang':
    case 'stubborn':
      return { kind: 'hang', endsOnTerm: word === 'hang', output: 'ready\n', port: null }
    case 'serve':
      return { kind: 'hang', endsOnTerm: true, output: 'ready\n', port: integer(first) }
    case 'oom':
    case 'vanish':
    case 'prepare-fail':
    case 'start-fail':
      return { kind: word }
    default:
      return exit(0)
  }
}

function exit(exitCode: number): Extract<NoopScript, { kind: 'exit' }> {
  return { kind: 'exit', exitCode, pullMs: 0, afterMs: 0, output: '' }
}

function integer(text: string | undefined): number {
  return Math.max(0, Math.trunc(Number(text ?? 0))) || 0
}

/**
 * For tests and benchmarks: simulated kernels, in memory only; the command of a kernel determines how it ends. A
 * restart loses them, and the server then treats them as vanished. Changes are announced once per turn of the event
 * loop.
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

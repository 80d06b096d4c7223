import type { KernelSpec, ObservedKernel } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'

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
  /** As `performance.now()`. */
  beganAt: number
  /** See TimedKernel: there is no machine whose uptime would count. */
  batchTimeoutMs: number | null
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
    beganAt: 0,
    batchTimeoutMs: spec.batchTimeoutMs ?? null,
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

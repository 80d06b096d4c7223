import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endLeftovers } from '../support/run/end-leftovers.ts'
import type { Set } from './find-bench.ts'
import type { BenchReport } from './bench-program.ts'

const PROGRAM = join(import.meta.dirname, 'bench-program.ts')
/** For a bench that has to end early to clean up after itself; then it is killed. */
const GRACE_MS = 1_000

export interface BenchRun {
  set: Set
  name: string
  size: number
  /** Where the benches of a run find what the first one prepares. */
  prepared: string
  limitMs: number
  /** Ends the bench early. */
  signal: AbortSignal
  onReport(report: BenchReport): void
}

export type BenchEnd = 'done' | 'failed' | 'gave up' | 'interrupted'

/**
 * Runs a bench in a process of its own, so that nothing it does can hold up this one. When it returns, that process and
 * all that it started have ended, and their directory is gone.
 */
export async function runBench({ set, name, size, prepared, limitMs, signal, onReport }: BenchRun): Promise<BenchEnd> {
  if (signal.aborted) return 'interrupted'
  const directory = await mkdtemp(join(tmpdir(), 'reprise-bench-'))
  // PostgreSQL runs as another user if this one is root.
  await chmod(directory, 0o755)
  const child = fork(PROGRAM, [set, name, String(size), directory, prepared], {
    // Ctrl-C in a terminal reaches this process alone.
    detached: true,
    stdio: ['ignore', 2, 2, 'ipc'],
    serialization: 'advanced',
    // Inherited by all that the bench starts, which is found by it.
    env: { ...process.env, BENCH_DIRECTORY: directory },
  })
  let failed = false
  child.on('message', (report: BenchReport) => {
    failed ||= report.kind === 'failed'
    onReport(report)
  })
  try {
    const end = await endOf(child, limitMs, signal)
    if (end !== 'exit') {
      if (child.connected) child.send('stop')
      await Promise.race([exitOf(child), sleep(GRACE_MS)])
      return end
    }
    if (child.exitCode === 0) return 'done'
    if (!failed) onReport({ kind: 'failed', message: `it ended with ${child.exitCode ?? child.signalCode}` })
    return 'failed'
  } finally {
    killGroup(child)
    await endLeftovers(directory)
    await rm(directory, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function endOf(
  child: ChildProcess,
  limitMs: number,
  signal: AbortSignal,
): Promise<'exit' | 'gave up' | 'interrupted'> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const limit = sleep(limitMs, 'gave up' as const, { signal: either }).catch(() => 'interrupted' as const)
  try {
    return await Promise.race([exitOf(child).then(() => 'exit' as const), limit])
  } finally {
    over.abort()
  }
}

async function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  // Its last reports may still be on their way.
  if (child.connected) await once(child, 'disconnect')
}

function killGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}

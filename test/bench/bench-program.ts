import { createLogger } from '../../src/observability/log.ts'
import type { Measurement } from './bench.ts'
import { findBench, type Set } from './find-bench.ts'
import { openGround } from './ground.ts'

/**
 * `bench-program.ts <set> <bench> <size> <directory> <prepared>`: runs one bench, and reports to the process that
 * started it. It ends early when it is told to stop, or when that process is gone.
 */

export type BenchReport =
  | { kind: 'started'; postgresql: string }
  | { kind: 'progress'; line: string }
  | { kind: 'measured'; measurement: Measurement }
  | { kind: 'failed'; message: string }

const [set = '', name = '', size = '', dir = '', prepared = ''] = process.argv.slice(2)
const stopped = new AbortController()
process.on('message', () => stopped.abort(new Error('stopped')))
process.once('disconnect', () => stopped.abort(new Error('the process that started it is gone')))
// A bench that is done ends by itself.
process.channel!.unref()
// A terminal sends these to the whole group: the process that started this one decides.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

try {
  const measure = await findBench(set as Set, name)!.load()
  await using ground = await openGround({
    dir,
    prepared,
    log: await createLogger({ level: 'warn', format: 'json' }),
    progress: (line) => report({ kind: 'progress', line }),
    signal: stopped.signal,
  })
  report({ kind: 'started', postgresql: ground.postgresql })
  for await (const measurement of measure(ground, Number(size))) report({ kind: 'measured', measurement })
} catch (error) {
  process.exitCode = 1
  if (!stopped.signal.aborted) report({ kind: 'failed', message: (error as Error).stack ?? String(error) })
}

function report(message: BenchReport): void {
  if (process.connected) process.send!(message)
}

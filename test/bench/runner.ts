import type { Set } from './find-bench.ts'
import { judge, type Bench, type Judged } from './bench.ts'
import type { Machine } from './machine.ts'
import { formatLine } from './report.ts'
import { runBench } from './run-bench.ts'

export interface Outcome {
  results: Judged[]
  /** Why the bench did not come to its end, in words; null if it did. */
  unfinished: string | null
}

export interface Runner {
  machine: Machine
  signal: AbortSignal
  say(line: string): void
  /** Prints each figure as soon as it is there. */
  run(bench: Bench): Promise<Outcome>
}

/** What it makes for all benches is in `prepared`, a directory. */
export function createRunner(options: {
  set: Set
  sizes: ReadonlyMap<string, number>
  prepared: string
  machine: Machine
  signal: AbortSignal
  say(line: string): void
}): Runner {
  const { set, sizes, prepared, machine, signal, say } = options
  return {
    machine,
    signal,
    say,
    async run(bench) {
      const { name } = bench
      const size = sizes.get(name) ?? bench.size
      const limit = Math.ceil(bench.limitSeconds * Math.max(1, size / bench.size))
      const results: Judged[] = []
      const end = await runBench({
        set,
        name,
        size,
        prepared,
        limitMs: limit * 1000,
        signal,
        onReport(report) {
          if (report.kind === 'started') machine['postgresql'] = report.postgresql
          else if (report.kind === 'progress') console.error(`${name}: ${report.line}`)
          else if (report.kind === 'failed') console.error(`${name}: ${report.message}`)
          else {
            const result = judge(name, report.measurement)
            results.push(result)
            say(formatLine(result))
          }
        },
      })
      return { results, unfinished: end === 'gave up' ? `GAVE UP after ${limit} s` : UNFINISHED[end] }
    },
  }
}

const UNFINISHED = { done: null, failed: 'FAILED', interrupted: 'INTERRUPTED' } as const

import type { Bench, Judged } from './bench.ts'
import { formatReport, type Unfinished } from './report.ts'
import type { Runner } from './runner.ts'

/** All of these benches, one after the other. Passed if each came to its end. */
export async function runWhole({
  runner,
  benches,
  json,
}: {
  runner: Runner
  benches: readonly Bench[]
  json: boolean
}): Promise<{ output: string; passed: boolean }> {
  const results: Judged[] = []
  const unfinished: Unfinished[] = []
  for (const bench of benches) {
    if (runner.signal.aborted) break
    const outcome = await runner.run(bench)
    results.push(...outcome.results)
    if (outcome.unfinished) unfinished.push({ bench: bench.name, why: outcome.unfinished })
  }
  const { machine } = runner
  const output = json
    ? JSON.stringify({ machine, results, unfinished }, null, 2)
    : formatReport(machine, results, unfinished)
  return { output, passed: unfinished.length === 0 }
}

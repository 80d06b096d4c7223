import type { Bench } from '../bench.ts'
import { formatColumns, wrap } from '../columns.ts'
import type { Machine } from '../machine.ts'
import { pairs } from '../report.ts'
import type { Runner } from '../runner.ts'
import { type KeptRatio, keptOf, type KeptRatios, readKept, thisMachine, writeKept } from './kept-ratios.ts'

/** How much of the kept ratio is still as good. */
const WORSE_BELOW = 0.85
const KEPT_MEASUREMENTS = 3

export interface QuickResult {
  bench: string
  /** In the order in which they were measured. */
  ratios: number[]
  /** The same ratios by the time that the work took, where they are those of CPU seconds. */
  byTime: string[]
  kept: KeptRatio | null
  /** Worse twice in a row. */
  worse: boolean
  /** Why there is no ratio, or not the second one. */
  unfinished: string | null
}

/**
 * Ratios beside those kept. One that is worse is measured once more, and counts if it is worse then, too. Passed if none
 * is worse, and each bench came to its end.
 */
export async function runQuick({
  runner,
  benches,
  keep,
  keptFile,
  json,
}: {
  runner: Runner
  benches: readonly Bench[]
  keep: boolean
  keptFile: string
  json: boolean
}): Promise<{ output: string; passed: boolean }> {
  const kept = await readKept(keptFile)
  const results: QuickResult[] = []
  for (const bench of benches) {
    if (runner.signal.aborted) break
    results.push(await (keep ? measureToKeep : measureToCompare)(runner, bench, kept[bench.name] ?? null))
  }
  const complete = results.every(({ unfinished }) => unfinished === null)
  if (keep && complete && !runner.signal.aborted) {
    await writeKept(keptFile, { ...kept, ...newlyKept(results) })
    runner.say(`written to ${keptFile}`)
  }
  const { machine } = runner
  return {
    output: json ? JSON.stringify({ machine, results }, null, 2) : formatQuick(machine, results, keep),
    passed: complete && (keep || results.every(({ worse }) => !worse)),
  }
}

async function measureToCompare(runner: Runner, bench: Bench, kept: KeptRatio | null): Promise<QuickResult> {
  const result: QuickResult = { bench: bench.name, ratios: [], byTime: [], kept, worse: false, unfinished: null }
  for (;;) {
    await measure(runner, bench, result)
    const ratio = result.ratios.at(-1)
    if (result.unfinished !== null || ratio === undefined || kept === null || ratio >= kept.ratio * WORSE_BELOW)
      return result
    if (result.ratios.length > 1) return { ...result, worse: true }
    runner.say(`${bench.name}: ${ratio.toFixed(2)} is worse than ${kept.ratio.toFixed(2)}, and is measured once more`)
  }
}

async function measureToKeep(runner: Runner, bench: Bench, kept: KeptRatio | null): Promise<QuickResult> {
  const result: QuickResult = { bench: bench.name, ratios: [], byTime: [], kept, worse: false, unfinished: null }
  while (result.ratios.length < KEPT_MEASUREMENTS && result.unfinished === null) await measure(runner, bench, result)
  return result
}

async function measure(runner: Runner, bench: Bench, result: QuickResult): Promise<void> {
  const { results, unfinished } = await runner.run(bench)
  const { ratio = null, notes = {} } = results.at(-1) ?? {}
  result.unfinished = unfinished ?? (ratio === null ? 'FAILED: no ratio' : null)
  if (ratio !== null) result.ratios.push(ratio)
  if ('by time' in notes) result.byTime.push(String(notes['by time']))
}

function newlyKept(results: readonly QuickResult[]): KeptRatios {
  return Object.fromEntries(results.map(({ bench, ratios }) => [bench, keptOf(ratios)]))
}

const COLUMNS = [
  { heading: 'bench', width: 12 },
  { heading: 'ratio', width: 14 },
  { heading: 'by time', width: 14 },
  { heading: 'kept', width: 5 },
  { heading: 'change', width: 6 },
  { heading: '', width: 22 },
]

function formatQuick(machine: Machine, results: readonly QuickResult[], keep: boolean): string {
  const rows = results.map((result) => formatColumns(COLUMNS, cells(result, keep)))
  const { cores, cpu } = thisMachine()
  const elsewhere = results.filter(({ kept }) => kept !== null && (kept.cores !== cores || kept.cpu !== cpu))
  const note = `Kept on another machine (${elsewhere[0]?.kept?.cores} cores, ${elsewhere[0]?.kept?.cpu}): `
  return [
    ...wrap(pairs(machine), 80),
    '',
    ...formatColumns(
      COLUMNS,
      COLUMNS.map(({ heading }) => heading),
    ),
    ...rows.flat(),
    ...(elsewhere.length === 0 ? [] : ['', ...wrap(note + elsewhere.map(({ bench }) => bench).join(', '), 80)]),
  ].join('\n')
}

function cells(result: QuickResult, keep: boolean): string[] {
  const { bench, ratios, byTime, kept } = result
  const ratio = keep && ratios.length > 0 ? keptOf(ratios).ratio : ratios.at(-1)
  return [
    bench,
    ratios.map((each) => each.toFixed(2)).join(' '),
    byTime.join(' '),
    kept?.ratio.toFixed(2) ?? '',
    kept === null || ratio === undefined ? '' : percent(ratio / kept.ratio - 1),
    verdictOf(result, keep),
  ]
}

function verdictOf({ ratios, kept, worse, unfinished }: QuickResult, keep: boolean): string {
  if (unfinished !== null) return unfinished
  if (keep) return `spread ${percent(keptOf(ratios).spread)}`
  if (kept === null) return 'nothing kept'
  return worse ? 'WORSE, twice' : ''
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

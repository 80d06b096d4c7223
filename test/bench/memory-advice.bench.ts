import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { type MemoryUse, memoryToRequest } from '../../src/domain/insight/advice/resource-advice.ts'
import { quantile } from '../../src/domain/insight/advice/statistics.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'

/**
 * What advice on memory would have saved in recorded workflows, replayed in the order of time, against the requests of
 * their authors and two published strategies. BENCH_TRACES_DIR names a directory with traces of Nextflow as CSV (`process`,
 * `status`, `memory`, `peak_rss`, `realtime`, `start`, `complete`; bytes and milliseconds), such as those of the paper on
 * Sizey (Bader et al., CLUSTER 2024), whose repository has no licence.
 */
export async function* memoryAdvice(ground: BenchGround): AsyncGenerator<Measurement> {
  const directory = process.env['BENCH_TRACES_DIR']
  if (directory === undefined) return ground.progress('BENCH_TRACES_DIR is not set: memory advice is not replayed')
  const files = (await readdir(directory)).filter((name) => name.endsWith('.csv')).toSorted()
  const traces = await Promise.all(files.map(async (name) => runsOf(await readFile(join(directory, name), 'utf8'))))
  const [asked, tovar, witt, ours] = [REQUESTED, TOVAR, WITT, OURS].map((strategy) => replay(traces, strategy))
  const facts = ({ failures, runs }: Replayed) => ({ failures: `${((100 * failures) / runs).toFixed(2)} %` })
  yield { what: `requests of ${asked!.runs} runs`, figure: asked!.gibHours, unit: 'GiB h wasted', notes: facts(asked!) }
  yield { what: "Tovar's strategy", figure: tovar!.gibHours, unit: 'GiB h wasted', notes: facts(tovar!) }
  yield { what: "Witt's 95th percentile", figure: witt!.gibHours, unit: 'GiB h wasted', notes: facts(witt!) }
  const target = { atMost: tovar!.gibHours }
  yield { what: 'advice', figure: ours!.gibHours, unit: 'GiB h wasted', target, notes: facts(ours!) }
  const more = (100 * (ours!.failures - asked!.failures)) / ours!.runs
  yield { what: 'more failures than with the requests', figure: more, unit: '%', target: { atMost: 2 } }
}

interface Run {
  name: string
  requestBytes: number
  peakBytes: number
  hours: number
  start: number
  end: number
}

function runsOf(csv: string): Run[] {
  const [head, ...rows] = csv.trimEnd().split('\n').map(fieldsOf)
  const column = (name: string) => {
    const at = head!.indexOf(name)
    if (at < 0) throw new Error(`a file of BENCH_TRACES_DIR has no column ${name}`)
    return at
  }
  const [name, status] = [column('process'), column('status')]
  const [memory, peak, time, start, end] = ['memory', 'peak_rss', 'realtime', 'start', 'complete'].map(column)
  return rows
    .filter((row) => row[status] === 'COMPLETED')
    .map((row) => ({
      name: row[name]!,
      requestBytes: Number(row[memory!]),
      peakBytes: Number(row[peak!]),
      hours: Number(row[time!]) / 3_600_000,
      start: Number(row[start!]),
      end: Number(row[end!]),
    }))
    .filter((run) => run.requestBytes > 0 && run.peakBytes > 0 && run.hours >= 0 && run.end > 0)
}

function fieldsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** How much a run gets at first, and after it has run out of it. `uses`, newest first, has the failed attempts, too. */
interface Strategy {
  first: (done: readonly Run[], uses: readonly MemoryUse[], requestBytes: number) => number
  again: (failedBytes: number, done: readonly Run[]) => number
}

const double = (failedBytes: number) => 2 * failedBytes
const REQUESTED: Strategy = { first: (_done, _uses, requestBytes) => requestBytes, again: double }
const OURS: Strategy = {
  first: (_done, uses, requestBytes) => memoryToRequest(uses) ?? requestBytes,
  again: double,
}

/** As many runs as advice needs. */
const RUNS_MIN = 8
const WITT: Strategy = {
  first: (done, _uses, requestBytes) =>
    done.length < RUNS_MIN ? requestBytes : quantile(done.map(({ peakBytes }) => peakBytes).toSorted(ascending), 0.95),
  again: double,
}
const NODE_BYTES = 128e9

/** Tovar et al., "A Job Sizing Strategy for High-Throughput Scientific Workflows", IEEE TPDS 2018: least waste. */
const TOVAR: Strategy = {
  first(done, _uses, requestBytes) {
    if (done.length < RUNS_MIN) return requestBytes
    const sorted = done.toSorted((a, b) => b.peakBytes - a.peakBytes)
    const most = sorted[0]!.peakBytes
    const hours = sorted.reduce((sum, run) => sum + run.hours, 0)
    // The waste at an allocation, but for a part that is the same for all. Runs above it are repeated with the most.
    let above = 0
    let best = { bytes: most, waste: Infinity }
    for (const { peakBytes, hours: own } of sorted) {
      const waste = peakBytes * hours + most * above
      if (waste < best.waste) best = { bytes: peakBytes, waste }
      above += own
    }
    return best.bytes
  },
  again(failedBytes, done) {
    const most = Math.max(0, ...done.map(({ peakBytes }) => peakBytes))
    return failedBytes < most ? most : NODE_BYTES
  },
}

function ascending(a: number, b: number): number {
  return a - b
}

interface Replayed {
  runs: number
  failures: number
  gibHours: number
}

const GIB = 2 ** 30

/** A run knows those of its process that had ended when it started. One that runs out of memory does so at its end. */
function replay(traces: readonly Run[][], { first, again }: Strategy): Replayed {
  const total: Replayed = { runs: 0, failures: 0, gibHours: 0 }
  const waste = (bytes: number, { hours }: Run) => (total.gibHours += (bytes / GIB) * hours)
  for (const own of traces.flatMap((runs) => [...Map.groupBy(runs, (run) => run.name).values()])) {
    const done: Run[] = []
    const uses: MemoryUse[] = []
    let running: { run: Run; used: MemoryUse[] }[] = []
    for (const run of own.toSorted((a, b) => a.start - b.start)) {
      const ended = running.filter(({ run: { end } }) => end <= run.start)
      running = running.filter((each) => !ended.includes(each))
      done.push(...ended.map((each) => each.run))
      uses.unshift(...ended.flatMap(({ used }) => used))
      total.runs += 1
      let bytes = first(done, uses, run.requestBytes)
      const used: MemoryUse[] = []
      for (; bytes < run.peakBytes; bytes = again(bytes, done)) {
        total.failures += 1
        waste(bytes, run)
        used.unshift({ requestBytes: bytes, peakBytes: bytes })
      }
      waste(bytes - run.peakBytes, run)
      used.unshift({ requestBytes: bytes, peakBytes: run.peakBytes })
      running.push({ run, used })
    }
  }
  return total
}

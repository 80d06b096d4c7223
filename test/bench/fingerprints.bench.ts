import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fingerprintOf } from '../../src/domain/insight/fingerprint.ts'
import { maskLine } from '../../src/domain/insight/mask-lines.ts'
import { FAILURE_LOG_BYTES } from '../../src/domain/limits.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'

/**
 * How long a failed attempt takes to be described, and how well masks alone group lines. The second needs LogHub's data
 * sets, whose licence forbids copies: BENCH_LOGHUB_DIR names a directory with their files `…_2k.log_structured.csv`.
 */
export async function* fingerprints(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const facts = { cause: 'KERNEL_NONZERO_EXIT', exitCode: 3, error: null, isUsual: () => false, rules: [] } as const
  const logs = Array.from({ length: size }, (_, at) => logOf(at))
  for (const log of logs.slice(0, 20)) fingerprintOf({ ...facts, log })
  const times = logs
    .map((log) => {
      const began = performance.now()
      fingerprintOf({ ...facts, log })
      return performance.now() - began
    })
    .toSorted((a, b) => a - b)
  const of = (share: number) => times[Math.floor(share * (times.length - 1))]!
  const notes = { p99: `${of(0.99).toFixed(2)} ms` }
  yield {
    what: `a log of ${FAILURE_LOG_BYTES / 1024} KiB described`,
    figure: of(0.5),
    unit: 'ms',
    target: { atMost: 2 },
    notes,
  }

  const directory = process.env['BENCH_LOGHUB_DIR']
  if (directory === undefined) return ground.progress('BENCH_LOGHUB_DIR is not set: masks are not measured')
  const files = (await readdir(directory)).filter((name) => name.endsWith('.csv')).toSorted()
  const found: Quality[] = []
  for (const file of files) {
    const quality = qualityOf(await readFile(join(directory, file), 'utf8'))
    found.push(quality)
    const name = file.replace(/(_2k\.log_structured)?\.csv$/, '')
    yield {
      what: `masks on ${name}`,
      figure: 100 * quality.f1,
      unit: '% F1',
      notes: { accuracy: `${(100 * quality.accuracy).toFixed(1)} %` },
    }
  }
  const mean = (key: keyof Quality) => (100 * found.reduce((sum, each) => sum + each[key], 0)) / found.length
  yield { what: `masks, mean of ${found.length} sets`, figure: mean('f1'), unit: '% F1', target: { atLeast: 77 } }
  yield {
    what: `masks, mean of ${found.length} sets`,
    figure: mean('accuracy'),
    unit: '% accuracy',
    target: { atLeast: 72 },
  }
}

/** A log of the greatest size, with paths, numbers, times and error words. */
function logOf(seed: number): string {
  const line = (at: number) =>
    `2026-01-02T03:04:${String(at % 60).padStart(2, '0')}.123Z worker-${at % 7} ERROR: shard ${seed * at} of /data/run-${at}/part.bin failed after ${at / 8} ms (0x${(at * 7919).toString(16)})\n`
  let log = ''
  for (let at = 0; log.length < FAILURE_LOG_BYTES; at++) log += line(at)
  return log.slice(-FAILURE_LOG_BYTES)
}

interface Quality {
  /** The share of lines whose group has exactly the lines of their event. */
  accuracy: number
  /** Of pairs of lines in one group, against pairs of one event. */
  f1: number
}

function qualityOf(csv: string): Quality {
  const [head, ...rows] = csv.trimEnd().split(/\r?\n/).map(fieldsOf)
  const [content, event] = [head!.indexOf('Content'), head!.indexOf('EventId')]
  if (content < 0 || event < 0) throw new Error('a file of BENCH_LOGHUB_DIR has no columns Content and EventId')
  const lines = rows.map((row) => ({ masked: maskLine(row[content]!), event: row[event]! }))
  const events = Map.groupBy(lines, (line) => line.event)
  const groups = Map.groupBy(lines, ({ masked }) => masked)
  const both = Map.groupBy(lines, (line) => `${line.event} ${line.masked}`)
  const exact = [...groups.values()].filter((group) =>
    group.every((line) => line.event === group[0]!.event && events.get(line.event)!.length === group.length),
  )
  return {
    accuracy: exact.reduce((sum, group) => sum + group.length, 0) / lines.length,
    f1: (2 * pairsIn(both)) / (pairsIn(groups) + pairsIn(events)),
  }
}

function pairsIn(groups: ReadonlyMap<string, readonly unknown[]>): number {
  return [...groups.values()].reduce((sum, { length }) => sum + (length * (length - 1)) / 2, 0)
}

/** The fields of one line; these files have no field with a line break. */
function fieldsOf(line: string): string[] {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, field]) =>
    field!.startsWith('"') ? field!.slice(1, -1).replaceAll('""', '"') : field!,
  )
}

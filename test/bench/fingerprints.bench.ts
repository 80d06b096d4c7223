import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { stripVTControlCharacters } from 'node:util'
import { chooseFailureLines, isErrorLike } from '../../src/domain/insight/failure-lines.ts'
import { fingerprintOf } from '../../src/domain/insight/fingerprint.ts'
import { MASKED_CHARACTERS_MAX, maskLine } from '../../src/domain/insight/mask-lines.ts'
import { FAILURE_LOG_BYTES } from '../../src/domain/limits.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'

/**
 * How long a failed attempt takes to be described, how well masks alone group lines, and whether the chosen lines are
 * those that people would choose. The last two need data sets that are not in this repository:
 * - BENCH_LOGHUB_DIR: LogHub's, whose licence forbids copies; a directory with their files `…_2k.log_structured.csv`.
 * - BENCH_LOGCHUNKS_DIR: LogChunks (Brandt et al., MSR 2020, CC BY 4.0), 797 logs of failed builds in which people have
 *   marked what says why; its directory, with `logs/` and `build-failure-reason/LANGUAGE/REPOSITORY.xml`.
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

  const loghub = process.env['BENCH_LOGHUB_DIR']
  if (loghub === undefined) ground.progress('BENCH_LOGHUB_DIR is not set: masks are not measured')
  else yield* masks(loghub)
  const logchunks = process.env['BENCH_LOGCHUNKS_DIR']
  if (logchunks === undefined) ground.progress('BENCH_LOGCHUNKS_DIR is not set: chosen lines are not measured')
  else yield* chosenLines(await readMarkedLogs(logchunks))
}

async function* masks(directory: string): AsyncGenerator<Measurement> {
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

interface MarkedLog {
  /** Its end, as a failed attempt's is read. */
  log: string
  /** The lines that people marked. */
  marked: ReadonlySet<string>
}

async function readMarkedLogs(directory: string): Promise<MarkedLog[]> {
  const reasons = join(directory, 'build-failure-reason')
  const files = (await readdir(reasons, { recursive: true })).filter((name) => name.endsWith('.xml')).toSorted()
  const read: MarkedLog[] = []
  for (const file of files) {
    const xml = await readFile(join(reasons, file), 'utf8')
    for (const [, path, chunk] of xml.matchAll(EXAMPLE)) {
      const log = (await readFile(join(directory, 'logs', path!), 'utf8')).slice(-FAILURE_LOG_BYTES)
      const marked = new Set(linesOf(chunk!.replaceAll(/&(\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity)))
      if (marked.size > 0) read.push({ log, marked })
    }
  }
  if (read.length === 0) throw new Error('BENCH_LOGCHUNKS_DIR has no marked logs')
  return read
}

const EXAMPLE = /<Example>\s*<Log>([^<]*)<\/Log>[\s\S]*?<Chunk>([\s\S]*?)<\/Chunk>/g
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

/** The lines that say something, as `chooseFailureLines` gives them. Chunks lack the first character of ANSI codes. */
function linesOf(text: string): string[] {
  return text
    .split(/\r\n|\n|\r/)
    .map((line) =>
      stripVTControlCharacters(line)
        .replaceAll(/\[[0-9;]*[mK]/g, '')
        .trim()
        .slice(0, MASKED_CHARACTERS_MAX),
    )
    .filter((line) => line !== '')
}

const WITHIN = 50

/** Ways to choose lines; ours without knowledge of successful runs, of which the data set has none. */
const CHOICES: Readonly<Record<string, (log: string, lines: readonly string[]) => readonly string[]>> = {
  'the last line': (_, lines) => lines.slice(-1),
  'the last error-like line': (_, lines) => lines.filter(isErrorLike).slice(-1),
  [`the first 3 error-like of the last ${WITHIN}`]: (_, lines) => lines.slice(-WITHIN).filter(isErrorLike).slice(0, 3),
  [`the last 3 error-like of the last ${WITHIN}`]: (_, lines) => lines.slice(-WITHIN).filter(isErrorLike).slice(-3),
  ours: (log) => linesOf(chooseFailureLines(log, () => false).lines.join('\n')),
  [`any of the last ${WITHIN}: the most that these can reach`]: (_, lines) => lines.slice(-WITHIN),
}

/** The share of logs in which a chosen line is a marked one: of all, and of those with a marked one near their end. */
function* chosenLines(logs: readonly MarkedLog[]): Generator<Measurement> {
  const read = logs.map(({ log, marked }) => ({ log, marked, lines: linesOf(log) }))
  const near = read.filter(({ lines, marked }) => lines.slice(-WITHIN).some((line) => marked.has(line)))
  for (const [what, choose] of Object.entries(CHOICES)) {
    const share = (of: typeof read) =>
      (100 * of.filter(({ log, lines, marked }) => choose(log, lines).some((line) => marked.has(line))).length) /
      of.length
    const notes = { [`of the ${near.length} with one in the last ${WITHIN}`]: `${share(near).toFixed(1)} %` }
    yield { what: `a marked line is ${what}, ${read.length} logs`, figure: share(read), unit: '%', notes }
  }
}

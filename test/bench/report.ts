import type { Judged } from './bench.ts'
import type { Machine } from './machine.ts'
import { formatColumns, wrap } from './columns.ts'

const COLUMNS = [
  { heading: 'what', width: 29 },
  { heading: 'figure', width: 9, right: true },
  { heading: 'unit', width: 10 },
  { heading: 'ceiling', width: 8, right: true },
  { heading: 'ratio', width: 6, right: true },
  { heading: 'target', width: 12 },
]

/** A bench that did not come to its end, and why. */
export interface Unfinished {
  bench: string
  why: string
}

/** For a terminal of 80 columns; the notes of the lines come after the table. */
export function formatReport(machine: Machine, results: readonly Judged[], unfinished: readonly Unfinished[]): string {
  const lines = wrap(pairs(machine), 80)
  if (results.length > 0)
    lines.push(
      '',
      ...formatColumns(
        COLUMNS,
        COLUMNS.map(({ heading }) => heading),
      ),
    )
  let bench = ''
  for (const result of results) {
    if (result.bench !== bench) lines.push('', result.bench)
    bench = result.bench
    lines.push(...formatColumns(COLUMNS, cells(result)))
  }
  const noted = results.filter(({ notes }) => notes !== undefined)
  if (noted.length > 0) lines.push('')
  for (const { bench: of, what, notes } of noted) {
    lines.push(...wrap(`${of}, ${what}:`, 80), ...wrap(pairs(notes!), 76).map((line) => `    ${line}`))
  }
  if (unfinished.length > 0) lines.push('')
  for (const { bench: of, why } of unfinished) lines.push(...wrap(`${why}: ${of}`, 80))
  return lines.join('\n')
}

/** One measurement, as soon as it is there. */
export function formatLine({ bench, what, figure, unit, ceiling, ratio, met }: Judged): string {
  const parts = [`${rounded(figure)} ${unit}`]
  if (ceiling !== undefined) parts.push(`ceiling ${rounded(ceiling)}, ratio ${ratio!.toFixed(2)}`)
  if (met === false) parts.push('MISSED')
  return `${bench}, ${what}: ${parts.join('; ')}`
}

function cells({ what, figure, unit, ceiling, ratio, target, ratioAtLeast, ratioAtMost, met }: Judged): string[] {
  const targets: string[] = []
  if (target) targets.push('atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`)
  if (ratioAtLeast !== undefined) targets.push(`ratio ≥ ${ratioAtLeast}`)
  if (ratioAtMost !== undefined) targets.push(`ratio ≤ ${ratioAtMost}`)
  if (met !== null) targets.push(met ? 'met' : 'MISSED')
  return [
    what,
    rounded(figure),
    unit,
    ceiling === undefined ? '' : rounded(ceiling),
    ratio?.toFixed(2) ?? '',
    targets.join('\n'),
  ]
}

/** A slow rate has one digit more. */
export function rounded(figure: number): string {
  return figure.toFixed(figure < 20 ? 1 : 0)
}

export function pairs(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}

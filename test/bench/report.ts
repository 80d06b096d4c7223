import type { Judged } from './bench.ts'

const HEADINGS = ['bench', 'what', 'figure', 'unit', 'ceiling', 'ratio', 'target', '']

/** A table for a terminal, with the notes of each line under it. */
export function formatReport(machine: Record<string, string | number>, results: readonly Judged[]): string {
  const rows = [HEADINGS, ...results.map(cells)]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  const notes = results.flatMap((result) =>
    result.notes ? [`${result.bench}, ${result.what}: ${pairs(result.notes)}`] : [],
  )
  return [pairs(machine), '', ...table, '', ...notes].join('\n')
}

function cells({
  bench,
  what,
  figure,
  unit,
  ceiling,
  ratio,
  target,
  ratioAtLeast,
  ratioAtMost,
  met,
}: Judged): string[] {
  const targets: string[] = []
  if (target) targets.push('atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`)
  if (ratioAtLeast !== undefined) targets.push(`ratio ≥ ${ratioAtLeast}`)
  if (ratioAtMost !== undefined) targets.push(`ratio ≤ ${ratioAtMost}`)
  return [
    bench,
    what,
    rounded(figure),
    unit,
    ceiling === undefined ? '' : rounded(ceiling),
    ratio?.toFixed(2) ?? '',
    targets.join(', '),
    met === null ? '' : met ? 'met' : 'MISSED',
  ]
}

/** Of what is slow, a digit more. */
function rounded(figure: number): string {
  return figure.toFixed(figure < 20 ? 1 : 0)
}

function pairs(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}

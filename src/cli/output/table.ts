import type { Style, Terminal } from './terminal.ts'

export interface Column<Row> {
  title: string
  value: (row: Row) => string | number | null | undefined
  style?: (row: Row) => Style | undefined
  align?: 'right'
  /** Whether it may be shortened in the middle if the terminal is too narrow. */
  flexible?: true
  /** Whether it is left out only after all columns without this property. */
  kept?: true
  /** Whether it is left out if no row has a value. */
  optional?: true
  /**
   * Whether it is an id: a terminal shows only its beginning, long enough to differ from the others. Commands accept
   * the beginning as the id.
   */
  id?: true
}

const GAP = 2
/** Minimum width of flexible columns while another one can be narrowed. */
const FLEXIBLE_MIN = 8
/** The same minimum for columns that are kept, while there are others to leave out. */
const KEPT_MIN = 20

/** Formats lines of at most the terminal's width; full lines if there is no terminal. */
export async function formatTable<Row>(
  rows: readonly Row[],
  given: readonly Column<Row>[],
  terminal: Terminal,
): Promise<string> {
  const columns = given.filter(({ optional, value }) => !optional || rows.some((row) => value(row) != null))
  const whole = rows.map((row) => columns.map(({ value }) => oneLine(String(value(row) ?? '–'))))
  const cells = terminal.columns === undefined ? whole : withShortIds(whole, columns)
  const { width, cut } = await measureFor(cells)
  const natural = columns.map(({ title }, index) => Math.max(title.length, ...cells.map((line) => width(line[index]!))))
  const widths = terminal.columns === undefined ? natural : fit(natural, columns, terminal.columns)
  const shown = columns.flatMap((_, index) => (widths[index]! > 0 ? [index] : []))
  const line = (texts: readonly string[], style: (index: number) => Style | undefined) =>
    shown
      .map((index, place) => {
        const text = cut(texts[index]!, widths[index]!)
        const last = place === shown.length - 1 && columns[index]!.align !== 'right'
        const padding = last ? '' : ' '.repeat(Math.max(0, widths[index]! - width(text)))
        const chosen = style(index)
        const styled = chosen === undefined ? text : terminal.style(chosen, text)
        return columns[index]!.align === 'right' ? padding + styled : styled + padding
      })
      .join(' '.repeat(GAP))
  const head = line(
    columns.map(({ title }) => title),
    () => 'dim',
  )
  const body = cells.map((texts, row) => line(texts, (index) => columns[index]!.style?.(rows[row]!)))
  return [head, ...body].map((text) => text.trimEnd()).join('\n')
}

function withShortIds(cells: readonly string[][], columns: readonly { id?: true }[]): string[][] {
  const lengths = columns.map(({ id }, index) => (id ? prefixLength(cells.map((line) => line[index]!)) : undefined))
  return cells.map((line) => line.map((text, index) => text.slice(0, lengths[index]).replace(/-$/, '')))
}

/**
 * Minimum length of a shortened id: the milliseconds of a time-ordered UUID. With fewer digits, ids of the same minute
 * would look equal.
 */
const PREFIX_LENGTH_MIN = '00000000-0000'.length

function prefixLength(ids: readonly string[]): number {
  const distinct = new Set(ids)
  let length = PREFIX_LENGTH_MIN
  while (new Set([...distinct].map((id) => id.slice(0, length))).size < distinct.size) length++
  return length
}

/**
 * Narrows the widest flexible column step by step, then removes columns from the right. The first column is never
 * removed, and those that are kept only after all others.
 */
function fit(
  natural: readonly number[],
  columns: readonly { flexible?: true; kept?: true }[],
  available: number,
): number[] {
  const widths = [...natural]
  const total = () => {
    const shown = widths.filter((width) => width > 0)
    return shown.reduce((sum, width) => sum + width + GAP, -GAP)
  }
  while (total() > available) {
    const spare = widths.findLastIndex((width, index) => width > 0 && index > 0 && !columns[index]!.kept)
    const narrowable = widths.flatMap((width, index) => {
      const { flexible, kept } = columns[index]!
      return flexible && width > (kept && spare > 0 ? KEPT_MIN : FLEXIBLE_MIN) ? [index] : []
    })
    const widest = narrowable.toSorted((a, b) => widths[b]! - widths[a]!)[0]
    if (widest !== undefined) {
      widths[widest]!--
      continue
    }
    const last = spare > 0 ? spare : widths.findLastIndex((width) => width > 0)
    if (last <= 0) {
      widths[0] = available
      break
    }
    widths[last] = 0
  }
  return widths
}

/** Replaces control characters, line feeds included, by spaces. */
export function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- what a session is called must not move the cursor
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}

/** Functions that measure and cut text, in columns of a terminal. */
export interface TextMeasure {
  width(text: string): number
  /** Cuts text in the middle, if it is wider. */
  cut(text: string, columns: number): string
}

/** Matches texts whose characters take one column each, alone and beside the others. */
const PLAIN = /^[\u0020-\u007e–…]*$/

export function isPlain(text: string): boolean {
  return PLAIN.test(text)
}

export const PLAIN_MEASURE: TextMeasure = {
  width: (text) => text.length,
  cut(text, columns) {
    if (text.length <= columns) return text
    if (columns <= 1) return '…'.repeat(columns)
    const front = Math.floor(columns / 2)
    return `${text.slice(0, front)}…${text.slice(text.length - (columns - front) + 1)}`
  },
}

async function measureFor(cells: readonly (readonly string[])[]): Promise<TextMeasure> {
  return cells.every((line) => line.every(isPlain)) ? PLAIN_MEASURE : unicodeMeasure()
}

/** Creates a measure for any text. Loading these packages takes a third of a command's time. */
export async function unicodeMeasure(): Promise<TextMeasure> {
  const [{ default: stringWidth }, { default: cliTruncate }] = await Promise.all([
    import('string-width'),
    import('cli-truncate'),
  ])
  return {
    width: (text) => stringWidth(text),
    cut: (text, columns) => cliTruncate(text, columns, { position: 'middle' }),
  }
}

/** Formats names and values in lines; null and empty values are left out. */
export function formatFields(fields: readonly (readonly [string, string | null | undefined])[], terminal: Terminal) {
  const given = fields.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(...given.map(([name]) => name.length))
  return given
    .map(([name, value]) => `${terminal.style('dim', name.padEnd(width))}  ${value!.replaceAll('\n', ' ')}`)
    .join('\n')
}

/** Text for spreadsheets. Text that these would take for a formula has an apostrophe before it. */
export function csvText<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => string | number | null | undefined>>,
): string {
  const lines = rows.map((row) => Object.values(columns).map((value) => csvField(value(row))))
  return [Object.keys(columns), ...lines].map((fields) => fields.join(',')).join('\n')
}

function csvField(value: string | number | null | undefined): string {
  if (typeof value !== 'string') return String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

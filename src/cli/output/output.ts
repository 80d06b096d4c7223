import process from 'node:process'
import { safeText } from './safe-text.ts'
import { formatTable, type Column } from './table.ts'
import { terminalOf, type Terminal } from './terminal.ts'

/** Data goes to standard output, messages to standard error. */
export interface Output {
  /** Whether the output is for programs. */
  readonly json: boolean
  readonly terminal: Terminal
  readonly notes: Terminal
  print(text: string): void
  note(text: string): void
  /** One JSON document, or text for people. */
  show(value: unknown, text: () => string): void
  /** The same with a text that takes time. */
  showSoon(value: unknown, text: () => Promise<string>): Promise<void>
  /** One JSON line of a stream, or a line for people. */
  item(value: unknown, text: () => string): void
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): Promise<void>
}

export function createOutput(json: boolean): Output {
  const terminal = terminalOf(process.stdout)
  const notes = terminalOf(process.stderr)
  const print = (text: string) => void process.stdout.write(`${safeText(text, terminal.coloured)}\n`)
  const note = (text: string) => void process.stderr.write(`${safeText(text, notes.coloured)}\n`)
  return {
    json,
    terminal,
    notes,
    print,
    note,
    show: (value, text) => print(json ? JSON.stringify(value, null, 2) : text()),
    async showSoon(value, text) {
      print(json ? JSON.stringify(value, null, 2) : await text())
    },
    item: (value, text) => print(json ? JSON.stringify(value) : text()),
    async table(rows, columns, empty) {
      if (json) print(JSON.stringify(rows, null, 2))
      else if (rows.length === 0) note(empty)
      else print(await formatTable(rows, columns, terminal))
    },
  }
}

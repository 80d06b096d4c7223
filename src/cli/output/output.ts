import process from 'node:process'
import { safeOutput, safeText, type Terminal, terminalOf } from './terminal.ts'
import { type Column, formatTable } from './table.ts'

/** Writes data to standard output, and messages to standard error. */
export interface Output {
  /** Whether the output is JSON for programs. */
  readonly json: boolean
  readonly terminal: Terminal
  readonly notes: Terminal
  print(text: string): void
  /**
   * Writes output of a program. A file or another program gets it unchanged. A terminal gets colours and carriage
   * returns, which redraw a line, but no other control sequences.
   */
  program(stream: 'STDOUT' | 'STDERR', text: string): void
  /** Ends the line that output of a program has left open on a terminal. */
  endLine(): void
  note(text: string): void
  /** Writes one JSON document, or text for people. */
  show(value: unknown, text: () => string): void
  /** Works like `show`, with a text that is made asynchronously. */
  showSoon(value: unknown, text: () => Promise<string>): Promise<void>
  /** Writes one JSON line of a stream, or a line for people. */
  item(value: unknown, text: () => string): void
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): Promise<void>
}

export function createOutput(json: boolean): Output {
  const terminal = terminalOf(process.stdout)
  const notes = terminalOf(process.stderr)
  let open: NodeJS.WriteStream | null = null
  const endLine = () => {
    open?.write('\n')
    open = null
  }
  const print = (text: string) => {
    endLine()
    process.stdout.write(`${safeText(text, terminal.coloured)}\n`)
  }
  const note = (text: string) => {
    endLine()
    process.stderr.write(`${safeText(text, notes.coloured)}\n`)
  }
  return {
    json,
    terminal,
    notes,
    print,
    program(name, text) {
      const [stream, { interactive }] = name === 'STDERR' ? [process.stderr, notes] : [process.stdout, terminal]
      stream.write(interactive ? safeOutput(text) : text)
      if (interactive && text !== '') open = text.endsWith('\n') ? null : stream
    },
    endLine,
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

interface ProgressBar {
  update(done: number, total: number, note?: string): void
  /** Removes the bar from the screen. */
  end(): void
}

/** Creates one line on standard error that is overwritten; it shows nothing if that is not a terminal. */
export function progressBar(label: string): ProgressBar {
  const terminal = terminalOf(process.stderr)
  if (!terminal.interactive) return { update() {}, end() {} }
  return {
    update(done, total, note = '') {
      const share = total === 0 ? 1 : Math.min(1, done / total)
      const figures = `${label} ${done}/${total} ${Math.floor(share * 100)} % ${note}`.trimEnd()
      const width = Math.max(5, Math.min(40, (terminal.columns ?? 80) - figures.length - 4))
      const filled = Math.round(share * width)
      process.stderr.write(`\r\u001b[2K${'█'.repeat(filled)}${'░'.repeat(width - filled)}  ${figures}`)
    },
    end: () => void process.stderr.write('\r\u001b[2K'),
  }
}

import process from 'node:process'
import { styleText } from 'node:util'

export type Style = Parameters<typeof styleText>[0]

/** An output stream, and what it can show. */
export interface Terminal {
  /** Width of the terminal; undefined if the output is not a terminal. */
  readonly columns: number | undefined
  readonly interactive: boolean
  /** Whether `style` adds colours. */
  readonly coloured: boolean
  style(style: Style, text: string): string
}

export function terminalOf(stream: NodeJS.WriteStream): Terminal {
  // Respects NO_COLOR, FORCE_COLOR and TERM.
  const colours = stream.isTTY && stream.hasColors()
  return {
    columns: stream.isTTY ? stream.columns || 80 : undefined,
    interactive: stream.isTTY,
    coloured: colours,
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  }
}

/** A closed pipe, as `head` leaves it, is not an error. */
export function endQuietlyOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
  }
}

import process from 'node:process'
import { styleText } from 'node:util'

export type Style = Parameters<typeof styleText>[0]

/** Where output goes, and what can be shown there. */
export interface Terminal {
  /** Width to fit to; undefined where nobody looks at it directly. */
  readonly columns: number | undefined
  readonly interactive: boolean
  style(style: Style, text: string): string
}

export function terminalOf(stream: NodeJS.WriteStream): Terminal {
  // Minds NO_COLOR, FORCE_COLOR and TERM.
  const colours = stream.isTTY && stream.hasColors()
  return {
    columns: stream.isTTY ? stream.columns || 80 : undefined,
    interactive: stream.isTTY,
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  }
}

/** A reader that has gone, as `head` does, is no fault. */
export function endQuietlyOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
  }
}

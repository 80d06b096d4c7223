import process from 'node:process'
import { styleText } from 'node:util'

export type Style = Parameters<typeof styleText>[0]

/** An output stream and its abilities. */
export interface Terminal {
  /** Width of the terminal; undefined if the output is not a terminal. */
  readonly columns: number | undefined
  readonly interactive: boolean
  /** Whether `style` adds colours. */
  readonly coloured: boolean
  style(style: Style, text: string): string
}

export function terminalOf(stream: NodeJS.WriteStream): Terminal {
  // `hasColors` respects NO_COLOR, FORCE_COLOR and TERM.
  const colours = stream.isTTY && stream.hasColors()
  return {
    columns: stream.isTTY ? stream.columns || 80 : undefined,
    interactive: stream.isTTY,
    coloured: colours,
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  }
}

/** Ends quietly on a closed pipe: `head` closes its input early, which is not an error. */
export function endQuietlyOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
  }
}

const STYLES: Readonly<Record<string, Style>> = {
  ERROR: 'red',
  FAILED: 'red',
  FAILURE: 'red',
  LOST: 'red',
  EXHAUSTED: 'red',
  UNHEALTHY: 'red',
  FAILED_TO_START: 'red',
  CANCELLED: 'yellow',
  DEGRADED: 'yellow',
  DESTROYING: 'yellow',
  HELD: 'yellow',
  IMPOSSIBLE: 'yellow',
  SUSPECT: 'yellow',
  DRAINING: 'yellow',
  SCHEDULED: 'cyan',
  QUEUED: 'cyan',
  SCALING: 'cyan',
  PROVISIONING: 'cyan',
  WAITING_RETRY: 'cyan',
  RUNNING: 'green',
  READY: 'green',
  HEALTHY: 'green',
  ALIVE: 'green',
  SUCCEEDED: 'green',
  SUCCESS: 'green',
  DELIVERED: 'green',
}

/** Returns the style of a status word, which is the same everywhere. */
export function statusStyle(word: string): Style | undefined {
  return STYLES[word]
}

/**
 * Texts from a server contain names, reasons and messages of other users. Their control characters are shown as
 * escapes, so that they have no effect on the terminal. Line feeds, tabs and the command line's own colours stay.
 */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex -- what is looked for
  /\u001b\[[0-9;]*m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Makes a text safe; `colours`: whether it may contain colours. */
export function safeText(text: string, colours: boolean): string {
  return text.replaceAll(CONTROLS, (found) => (found.length > 1 && colours ? found : escaped(found)))
}

// oxlint-disable-next-line no-control-regex -- what is looked for
const REDRAWS = /(\r|\u001b\[[0-2]?K)/

/**
 * Makes output of a program safe. Carriage returns and erasures of the line stay, so that a progress bar is drawn on one
 * line.
 */
export function safeOutput(text: string): string {
  return text
    .split(REDRAWS)
    .map((part, at) => (at % 2 === 1 ? part : safeText(part, true)))
    .join('')
}

/** Returns the part of a line that is seen once all carriage returns have taken effect. */
export function redrawn(line: string): string {
  const kept = line.replace(/\r+$/, '')
  return kept.slice(kept.lastIndexOf('\r') + 1)
}

function escaped(text: string): string {
  return [...text].map((character) => (isControl(character) ? codeOf(character) : character)).join('')
}

function isControl(character: string): boolean {
  return character < ' ' || character > '~'
}

/** Writes a character as an escape: `\u001b`. */
function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

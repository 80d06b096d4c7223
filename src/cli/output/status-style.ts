import type { Style } from './terminal.ts'

const STYLES: Readonly<Record<string, Style>> = {
  ERROR: 'red',
  FAILED: 'red',
  FAILURE: 'red',
  LOST: 'red',
  EXHAUSTED: 'red',
  CANCELLED: 'yellow',
  HELD: 'yellow',
  SUSPECT: 'yellow',
  DRAINING: 'yellow',
  SCHEDULED: 'cyan',
  WAITING_RETRY: 'cyan',
  RUNNING: 'green',
  LIVE: 'green',
  ALIVE: 'green',
  SUCCEEDED: 'green',
  SUCCESS: 'green',
  DELIVERED: 'green',
}

/** How a word for a state is shown; the same everywhere. */
export function statusStyle(word: string): Style | undefined {
  return STYLES[word]
}

import type { Style } from './terminal.ts'

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
  SUSPECT: 'yellow',
  DRAINING: 'yellow',
  SCHEDULED: 'cyan',
  SCALING: 'cyan',
  PROVISIONING: 'cyan',
  WAITING_RETRY: 'cyan',
  RUNNING: 'green',
  READY: 'green',
  HEALTHY: 'green',
  LIVE: 'green',
  ALIVE: 'green',
  SUCCEEDED: 'green',
  SUCCESS: 'green',
  DELIVERED: 'green',
}

/** The style of a status word, the same everywhere. */
export function statusStyle(word: string): Style | undefined {
  return STYLES[word]
}

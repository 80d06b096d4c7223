import type { Logger } from '../observability/log.ts'

/** A log line about the outcome of one session, with its ids as fields. */
export interface OutcomeLine {
  ids: Readonly<Record<string, string | number | null>>
  message: string
}

const SINGLE_LINES_MAX = 10

/** Logs one line per outcome; if there are many, one summary line, and the single lines at debug. */
export function logOutcomes(log: Logger, lines: readonly OutcomeLine[], summary: () => string): void {
  const many = lines.length > SINGLE_LINES_MAX
  if (many) log.info(summary())
  const level = many ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  for (const { ids, message } of lines) log[level](ids, message)
}

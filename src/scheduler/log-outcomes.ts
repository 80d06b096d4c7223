import type { Logger } from '../observability/log.ts'

/** What happened to one session, in words, with its ids as fields of the log line. */
export interface OutcomeLine {
  ids: Readonly<Record<string, string | number | null>>
  message: string
}

const TOLD_ONE_BY_ONE_MAX = 10

/** Logs one line per outcome; if there are many, one summary line, and the single lines at debug. */
export function logOutcomes(log: Logger, lines: readonly OutcomeLine[], summary: () => string): void {
  const many = lines.length > TOLD_ONE_BY_ONE_MAX
  if (many) log.info(summary())
  const level = many ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  for (const { ids, message } of lines) log[level](ids, message)
}

import type { Logger } from '../../observability/log.ts'

/** What became of one session, in words, with the ids by which its lines are found. */
export interface OutcomeLine {
  ids: Readonly<Record<string, string | number | null>>
  says: string
}

const TOLD_ONE_BY_ONE_MAX = 10

/** One line each for a few; for many, one summary line, and one each at debug. */
export function logOutcomes(log: Logger, lines: readonly OutcomeLine[], summary: () => string): void {
  const many = lines.length > TOLD_ONE_BY_ONE_MAX
  if (many) log.info(summary())
  const level = many ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  for (const { ids, says } of lines) log[level](ids, says)
}

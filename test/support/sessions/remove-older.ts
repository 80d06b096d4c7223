import { pino } from 'pino'
import { FOREVER, parseRetention } from '../../../src/domain/retention.ts'
import { removeOld, type RetentionPolicy } from '../../../src/scheduler/retention-service.ts'
import type { Database } from '../../../src/store/database.ts'

const EVERYTHING: RetentionPolicy = {
  chains: FOREVER,
  events: FOREVER,
  logs: FOREVER,
  audit: FOREVER,
  agentHistory: FOREVER,
  succeededCheckpoints: FOREVER,
  failedCheckpoints: FOREVER,
}

/**
 * Runs the retention once.
 *
 * @param kept as in the environment: `{ chains: '90d' }`; what is not named is kept forever
 */
export function removeOlder(db: Database, kept: Partial<Record<keyof RetentionPolicy, string>>) {
  const policy = Object.fromEntries(Object.entries(kept).map(([name, text]) => [name, parseRetention(text)!]))
  return removeOld({ db, log: pino({ enabled: false }) }, { ...EVERYTHING, ...policy }, new AbortController().signal)
}

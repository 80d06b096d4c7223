import { RETENTION_INTERVAL_MS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import { measureRun } from '../observability/run-metrics.ts'
import type { Database } from '../store/database.ts'
import { defineService, type BackgroundService } from './background-service.ts'
import { removeOld, type RetentionPolicy } from './handlers/remove-old.handler.ts'

/** Keeps growing tables within the limits of the configuration. */
export function createRetentionService(context: {
  db: Database
  log: Logger
  metrics: Metrics
  policy: RetentionPolicy
}): BackgroundService {
  const { log, metrics, policy } = context
  const name = 'remove-old'
  return defineService({
    name,
    intervalMs: RETENTION_INTERVAL_MS,
    log,
    runOnce: (signal) => measureRun(metrics, name, () => removeOld(context, policy, signal)),
  })
}

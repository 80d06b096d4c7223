import { RETENTION_INTERVAL_MS } from '../../domain/limits.ts'
import type { Logger } from '../../observability/log.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Database } from '../../store/database.ts'
import type { BackgroundService } from '../background-service.ts'
import { removeOld, type RetentionPolicy } from './remove-old.handler.ts'
import { defineMeasuredService } from '../measured-service.ts'

/** Keeps growing tables within the configured limits. */
export function createRetentionService(context: {
  db: Database
  log: Logger
  metrics: Metrics
  policy: RetentionPolicy
}): BackgroundService {
  const { policy } = context
  return defineMeasuredService(context, 'remove-old', RETENTION_INTERVAL_MS, (signal) =>
    removeOld(context, policy, signal),
  )
}

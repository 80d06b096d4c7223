import { DISCOVERY_INTERVAL_MS } from '../../domain/limits.ts'
import type { Logger } from '../../observability/log.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Database } from '../../store/database.ts'
import type { BackgroundService } from '../background-service.ts'
import { writeDiscovery } from './write-discovery.handler.ts'
import { defineMeasuredService } from '../measured-service.ts'

/** Keeps the files of service discovery in a directory up to date. */
export function createDiscoveryService(context: {
  db: Database
  log: Logger
  metrics: Metrics
  directory: string
}): BackgroundService {
  const { db, directory } = context
  return defineMeasuredService(context, 'sync-discovery', DISCOVERY_INTERVAL_MS, () => writeDiscovery(db, directory))
}

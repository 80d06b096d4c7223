import { DISCOVERY_INTERVAL_MS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import { measureRun } from '../observability/run-metrics.ts'
import type { Database } from '../store/database.ts'
import { defineService, type BackgroundService } from './background-service.ts'
import { writeDiscovery } from './handlers/write-discovery.handler.ts'

/** Keeps the files of service discovery in a directory up to date. */
export function createDiscoveryService(context: {
  db: Database
  log: Logger
  metrics: Metrics
  directory: string
}): BackgroundService {
  const { db, log, metrics, directory } = context
  const name = 'sync-discovery'
  return defineService({
    name,
    intervalMs: DISCOVERY_INTERVAL_MS,
    log,
    runOnce: () => measureRun(metrics, name, () => writeDiscovery(db, directory)),
  })
}

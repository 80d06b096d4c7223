import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import { measureRun } from '../observability/run-metrics.ts'
import { defineService, type BackgroundService, type RunReport } from './background-service.ts'

/** A background service each of whose passes is counted and timed under its name. */
export function defineMeasuredService(
  { log, metrics }: { log: Logger; metrics: Pick<Metrics, 'runs' | 'done'> },
  name: string,
  intervalMs: number,
  runOnce: (signal: AbortSignal) => Promise<RunReport>,
): BackgroundService {
  return defineService({
    name,
    intervalMs,
    log,
    runOnce: (signal) => measureRun(metrics, name, () => runOnce(signal)),
  })
}

import {
  CLAIM_BATCH_SESSIONS_MAX,
  DEPLOYMENT_INTERVAL_MS,
  HEALTH_CHECK_INTERVAL_MS,
  LASTING_HEALTH_MS,
} from '../../domain/limits.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import { readDueDeployments, readDueRoutes } from '../../store/sql/deployment/revisions.sql.ts'
import { resetFailures } from '../../store/sql/deployment/routes.sql.ts'
import { type BackgroundService, defineMeasuredService, type RunReport } from '../background-service.ts'
import { type CoordinatorContext, runHandler } from '../coordinator.ts'
import { DEPLOYMENTS, ROUTES } from './deployment-kinds.ts'
import {
  checkPendingDeployment,
  checkReplicaDeployment,
  destroyingDeployment,
  reconcileDeployment,
  scalingDeployment,
} from './deployment.handlers.ts'
import {
  healthCheckRoute,
  provisioningRoute,
  routeEviction,
  runningRoute,
  serviceDiscoverySync,
  terminatingRoute,
} from './route.handlers.ts'
import { type AskHealth, createProber } from './prober.ts'

export type DeploymentServiceName = 'drive-deployments' | 'drive-routes' | 'check-route-health'

export interface DeploymentContext extends CoordinatorContext {
  metrics: Metrics
  sync: SyncPoints
  askHealth: AskHealth
  /** Time at which this server began to check routes, as `performance.now()`. */
  watchedSince: number
}

/** The background services of deployments. */
export function createDeploymentServices(context: DeploymentContext): Record<DeploymentServiceName, BackgroundService> {
  const { metrics } = context
  const service = (name: DeploymentServiceName, intervalMs: number, runOnce: () => Promise<RunReport>) =>
    defineMeasuredService(context, name, intervalMs, runOnce)
  const noteCheck = ({ well, seconds }: { well: boolean; seconds: number }) =>
    metrics.routes.checks.observe({ outcome: well ? 'well' : 'fault' }, seconds)
  const prober = createProber({ ...context, observed: noteCheck })
  const probe = service('check-route-health', HEALTH_CHECK_INTERVAL_MS, prober.fill)
  return {
    'drive-deployments': service('drive-deployments', DEPLOYMENT_INTERVAL_MS, () => driveDeployments(context)),
    'drive-routes': service('drive-routes', DEPLOYMENT_INTERVAL_MS, createRouteDriver(context)),
    'check-route-health': {
      ...probe,
      async stop() {
        await probe.stop()
        await prober.stop()
      },
    },
  }
}

/** Runs the handlers in order, each until it has nothing left to claim. */
async function driveDeployments(context: DeploymentContext): Promise<RunReport> {
  const { any, nextInMs } = await readDueDeployments(context.db)
  if (!any) return { done: 0 }
  await resetFailures(context.db, LASTING_HEALTH_MS)
  const handlers = [
    checkPendingDeployment(),
    scalingDeployment(context.sync),
    checkReplicaDeployment(),
    reconcileDeployment(),
    destroyingDeployment(),
  ]
  let done = 0
  for (const handler of handlers) {
    for (let claimed = CLAIM_BATCH_SESSIONS_MAX; claimed === CLAIM_BATCH_SESSIONS_MAX;) {
      const report = await runHandler(context, DEPLOYMENTS, handler)
      claimed = report.claimed
      done += report.done
    }
  }
  return { done, againInMs: nextInMs }
}

const ROUTE_HANDLERS = [
  provisioningRoute,
  healthCheckRoute,
  runningRoute,
  routeEviction,
  terminatingRoute,
  serviceDiscoverySync,
]

/** After a longer gap between two passes, health checks may have been missed, too. */
const ABSENCE_MS = 5 * DEPLOYMENT_INTERVAL_MS

function createRouteDriver(context: DeploymentContext): () => Promise<RunReport> {
  let { watchedSince } = context
  let lookedAt = performance.now()
  const watched = () => performance.now() - watchedSince
  const handlers = ROUTE_HANDLERS.map((create) => create(watched))
  return async () => {
    const { any, nextInMs } = await readDueRoutes(context.db)
    if (performance.now() - lookedAt > ABSENCE_MS) watchedSince = performance.now()
    lookedAt = performance.now()
    if (!any) return { done: 0 }
    const reports = []
    for (const handler of handlers) reports.push(await runHandler(context, ROUTES, handler))
    return {
      done: reports.reduce((sum, { done }) => sum + done, 0),
      more: reports.some(({ more }) => more),
      againInMs: nextInMs,
    }
  }
}

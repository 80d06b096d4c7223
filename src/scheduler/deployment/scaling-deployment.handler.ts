import { DEPLOYMENT_HANDLERS, type DeploymentResult } from '../../domain/deployment/handlers.ts'
import type { Finding } from '../../domain/deployment/judge.ts'
import { planReplicas, type ReplicaPlan } from '../../domain/deployment/plan-replicas.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { ClaimedDeployment } from '../../store/sql/deployment/claim-deployments.sql.ts'
import { readRoutesOf, type DeploymentRoute } from '../../store/sql/deployment/routes-of-deployments.sql.ts'
import type { DeploymentHandler } from './deployment-kinds.ts'
import { beginRoutes, type RouteOrder } from './begin-routes.ts'
import { endRoutes } from './end-routes.ts'
import { handleDeployments } from './handle-deployments.ts'

const declaration = DEPLOYMENT_HANDLERS['scaling-deployment']

interface Planned {
  deployment: ClaimedDeployment
  plan: ReplicaPlan
  routes: DeploymentRoute[]
}

/** SCALING → READY: begins and ends routes, one step per pass, until the wanted number is healthy. */
export function scalingDeployment(sync: SyncPoints): DeploymentHandler {
  const handler = handleDeployments(declaration, {
    wakes: [],
    async execute(tx, deployments) {
      const ids = deployments.map(({ id }) => id)
      const routesOf = await readRoutesOf(tx, ids)
      await sync.reached('deployment:after-claim')
      const planned = deployments.map((deployment): Planned => {
        const routes = routesOf.get(deployment.id) ?? []
        return { deployment, routes, plan: planReplicas(deployment, routes) }
      })
      const ended = await endRoutes(tx, declaration.name, planned.flatMap(toEnd))
      const { begun, refused } = await beginRoutes(tx, declaration.name, planned.flatMap(toBegin))
      await sync.reached('deployment:before-commit')
      const wakes: WakeTopic[] = []
      if (begun > 0) wakes.push('schedule-sessions', 'events')
      if (ended > 0) wakes.push('drive-routes', 'sync-discovery', 'events')
      return { wakes, findings: planned.map((entry) => findingOf(entry, refused.get(entry.deployment.id))) }
    },
  })
  return handler()
}

function toEnd({ deployment, plan, routes }: Planned) {
  const reasonOf = (id: string) => {
    const { revision } = routes.find((route) => route.id === id)!
    if (revision !== deployment.revision) return `revision ${deployment.revision} replaces revision ${revision}`
    return `there are more replicas than the ${deployment.replicas} wanted`
  }
  return plan.stop.map((id) => ({ ...routes.find((route) => route.id === id)!, reason: reasonOf(id) }))
}

/** Begins nothing while failures delay the next route. */
function toBegin({ deployment, plan }: Planned): RouteOrder[] {
  return plan.start === 0 || deployment.nextRouteInMs > 0 ? [] : [{ deployment, count: plan.start }]
}

function findingOf({ deployment, plan, routes }: Planned, refused: string | undefined): Finding<DeploymentResult> {
  const { id, replicas, revision } = deployment
  if (plan.settled) return { id, result: 'SUCCESS', message: null }
  const healthy = routes.filter((route) => route.status === 'HEALTHY' && route.revision === revision).length
  const counts = `${healthy} of ${replicas} replicas are healthy`
  return { id, result: 'FAILURE', message: [counts, ...whyNone(deployment, plan, refused)].join('; ') }
}

/** The text stays the same until something changes: waiting must not make the history grow. */
function whyNone(deployment: ClaimedDeployment, plan: ReplicaPlan, refused: string | undefined): string[] {
  const { failures, nextRouteInMs, backoffMs } = deployment
  if (refused !== undefined) return [`no more can begin: ${refused}`]
  if (plan.start === 0 || nextRouteInMs === 0) return []
  const after = failures === 1 ? 'a failure' : `the last of ${failures} failures in a row`
  return [`the next begins ${(backoffMs / 1000).toFixed(1)} s after ${after}`]
}

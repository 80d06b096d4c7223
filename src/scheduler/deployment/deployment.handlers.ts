import {
  DEPLOYMENT_HANDLERS,
  type DeploymentDeclaration,
  type DeploymentResult,
  type Finding,
} from '../../domain/deployment/lifecycle.ts'
import { planReplicas, type ReplicaPlan } from '../../domain/deployment/plan-replicas.ts'
import { DESTROY_TIMEOUT_MS, LASTING_HEALTH_MS } from '../../domain/limits.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import { applyRouteMoves } from '../../store/sql/deployment/apply-deployment-moves.sql.ts'
import { claimDeployments, type ClaimedDeployment } from '../../store/sql/deployment/claim-deployments.sql.ts'
import { type DeploymentRoute, readRoutesOf } from '../../store/sql/deployment/routes.sql.ts'
import { beginRoutes, type RouteOrder } from './begin-routes.ts'
import type { DeploymentFindings, DeploymentHandler } from './deployment-kinds.ts'

/** PENDING → SCALING: no preparation is necessary. */
export const checkPendingDeployment = handleDeployments(DEPLOYMENT_HANDLERS['check-pending-deployment'], {
  wakes: [],
  async execute(_tx, deployments) {
    return { findings: deployments.map(({ id }) => ({ id, result: 'SUCCESS', message: null })) }
  },
})

const SCALING = DEPLOYMENT_HANDLERS['scaling-deployment']

interface Planned {
  deployment: ClaimedDeployment
  plan: ReplicaPlan
  routes: DeploymentRoute[]
}

/** SCALING → READY: begins and ends routes, one step per pass, until the wanted number is healthy. */
export function scalingDeployment(sync: SyncPoints): DeploymentHandler {
  const handler = handleDeployments(SCALING, {
    wakes: [],
    async execute(tx, deployments) {
      const ids = deployments.map(({ id }) => id)
      const routesOf = await readRoutesOf(tx, ids)
      await sync.reached('deployment:after-claim')
      const planned = deployments.map((deployment): Planned => {
        const routes = routesOf.get(deployment.id) ?? []
        return { deployment, routes, plan: planReplicas(deployment, routes) }
      })
      const ended = await endRoutes(tx, SCALING.name, planned.flatMap(toEnd))
      const { begun, refused } = await beginRoutes(tx, SCALING.name, planned.flatMap(toBegin))
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
  const counts = `${healthy} of ${replicas} replicas of revision ${revision} are healthy`
  return { id, result: 'FAILURE', message: [counts, ...whyNone(deployment, plan, refused)].join('; ') }
}

/**
 * Explains why no route is started. The text has no remaining time: it would change with each pass, and the history
 * would get an entry for each.
 */
function whyNone(deployment: ClaimedDeployment, plan: ReplicaPlan, refused: string | undefined): string[] {
  const { failures, nextRouteInMs, backoffMs } = deployment
  if (refused !== undefined) return [`no more can be started: ${refused}`]
  if (plan.start === 0 || nextRouteInMs === 0) return []
  const after = failures === 1 ? 'a failure' : `the last of ${failures} failures in a row`
  return [`the next is started ${(backoffMs / 1000).toFixed(1)} s after ${after}`]
}

/** READY → SCALING if the number of routes differs from the number of replicas. */
export const checkReplicaDeployment = handleDeployments(DEPLOYMENT_HANDLERS['check-replica-deployment'], {
  wakes: ['drive-deployments'],
  async execute(_tx, deployments) {
    return {
      findings: deployments.map(({ id, live, replicas }) => {
        return { id, result: 'SUCCESS', message: `replicas: ${replicas} wanted, ${live} exist` }
      }),
    }
  },
})

/** READY → SCALING if a route has a fault that nothing else has fixed in time. */
export const reconcileDeployment = handleDeployments(DEPLOYMENT_HANDLERS['reconcile-deployment'], {
  wakes: ['drive-deployments'],
  async execute(_tx, deployments) {
    return { findings: deployments.map(({ id, fault }) => ({ id, result: 'FAILURE', message: fault })) }
  },
})

const DESTROYING = DEPLOYMENT_HANDLERS['destroying-deployment']

/** DESTROYING → DESTROYED: ends all routes, and succeeds when they are over; fails if they are long overdue. */
export const destroyingDeployment = handleDeployments(DESTROYING, {
  wakes: ['sync-discovery'],
  async execute(tx, deployments) {
    const routesOf = await readRoutesOf(
      tx,
      deployments.map(({ id }) => id),
    )
    const live = [...routesOf.values()].flat().filter(({ status }) => status !== 'TERMINATING')
    const reason = 'its deployment is destroyed'
    const ended = await endRoutes(
      tx,
      DESTROYING.name,
      live.map((route) => ({ ...route, reason })),
    )
    const findings = deployments.flatMap(({ id, inStatusMs }): Finding<DeploymentResult>[] => {
      const left = routesOf.get(id)?.length ?? 0
      if (left === 0) return [{ id, result: 'SUCCESS', message: null }]
      if (inStatusMs <= DESTROY_TIMEOUT_MS) return []
      return [{ id, result: 'FAILURE', message: `${left} of its routes had not ended in time` }]
    })
    return { findings, wakes: ended > 0 ? ['drive-routes', 'sync-discovery', 'events'] : [] }
  },
})

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/**
 * Returns a function that creates a handler of deployments for one pass. The handler claims the deployments in batches,
 * in order of id, until none is left.
 */
function handleDeployments(
  declaration: DeploymentDeclaration,
  options: {
    wakes: readonly WakeTopic[]
    execute(tx: Queryable, deployments: ClaimedDeployment[]): Promise<DeploymentFindings>
  },
): () => DeploymentHandler {
  return () => {
    let after = BEFORE_ALL
    return {
      declaration,
      wakes: options.wakes,
      agentsOf: () => [],
      async claim(tx, { limit }) {
        const claimed = await claimDeployments(tx, declaration, { after, limit })
        after = claimed.at(-1)?.id ?? after
        return claimed
      },
      execute: options.execute,
    }
  }
}

/**
 * Moves routes that their deployment no longer wants to TERMINATING. A route that a route handler has locked is skipped
 * until a later pass.
 *
 * @returns how many routes moved
 */
async function endRoutes(
  tx: Queryable,
  phase: string,
  routes: readonly (Pick<DeploymentRoute, 'id' | 'status'> & { reason: string })[],
): Promise<number> {
  const moves = routes.map(({ id, status, reason }) => {
    return { id, from: status, to: 'TERMINATING' as const, outcome: 'SUCCESS' as const, message: reason }
  })
  return (await applyRouteMoves(tx, phase, moves, LASTING_HEALTH_MS)).length
}

import { DEPLOYMENT_HANDLERS, type DeploymentResult } from '../../domain/deployment/handlers.ts'
import type { Finding } from '../../domain/deployment/judge.ts'
import { DESTROY_TIMEOUT_MS } from '../../domain/limits.ts'
import { readRoutesOf } from '../../store/sql/deployment/routes-of-deployments.sql.ts'
import { endRoutes } from './end-routes.ts'
import { handleDeployments } from './handle-deployments.ts'

const declaration = DEPLOYMENT_HANDLERS['destroying-deployment']

/** DESTROYING → DESTROYED: ends all routes, and succeeds when they are over; fails if they are long overdue. */
export const destroyingDeployment = handleDeployments(declaration, {
  wakes: ['sync-discovery'],
  async execute(tx, deployments) {
    const routesOf = await readRoutesOf(
      tx,
      deployments.map(({ id }) => id),
    )
    const toEnd = [...routesOf.values()].flat().filter(({ status }) => status !== 'TERMINATING')
    const reason = 'its deployment is destroyed'
    const ended = await endRoutes(
      tx,
      declaration.name,
      toEnd.map((route) => ({ ...route, reason })),
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

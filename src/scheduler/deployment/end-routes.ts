import { LASTING_HEALTH_MS } from '../../domain/limits.ts'
import type { Queryable } from '../../store/database.ts'
import { applyRouteMoves } from '../../store/sql/deployment/apply-deployment-moves.sql.ts'
import type { DeploymentRoute } from '../../store/sql/deployment/routes-of-deployments.sql.ts'

/**
 * Moves routes that their deployment no longer wants to TERMINATING. A route that a route handler has locked is skipped
 * until a later pass.
 *
 * @returns how many routes moved
 */
export async function endRoutes(
  tx: Queryable,
  phase: string,
  routes: readonly (Pick<DeploymentRoute, 'id' | 'status'> & { reason: string })[],
): Promise<number> {
  const moves = routes.map(({ id, status, reason }) => {
    return { id, from: status, to: 'TERMINATING' as const, outcome: 'SUCCESS' as const, message: reason }
  })
  return (await applyRouteMoves(tx, phase, moves, LASTING_HEALTH_MS)).length
}

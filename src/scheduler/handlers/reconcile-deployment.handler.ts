import { DEPLOYMENT_HANDLERS } from '../../domain/deployment/handlers.ts'
import type { DeploymentHandler } from '../deployment-kinds.ts'
import { claimInTurn } from './handle-deployments.ts'

/** READY → SCALING if a route is not as it should be and nothing else has fixed it in time. */
export function reconcileDeployment(): DeploymentHandler {
  const declaration = DEPLOYMENT_HANDLERS['reconcile-deployment']
  return {
    declaration,
    wakes: ['drive-deployments'],
    agentsOf: () => [],
    claim: claimInTurn(declaration),
    async execute(_tx, deployments) {
      return { findings: deployments.map(({ id, fault }) => ({ id, result: 'FAILURE', message: fault })) }
    },
  }
}

import { DEPLOYMENT_HANDLERS } from '../../domain/deployment/handlers.ts'
import type { DeploymentHandler } from '../deployment-kinds.ts'
import { claimInTurn } from './handle-deployments.ts'

/** PENDING → SCALING: nothing has to be made ready first. */
export function checkPendingDeployment(): DeploymentHandler {
  const declaration = DEPLOYMENT_HANDLERS['check-pending-deployment']
  return {
    declaration,
    wakes: [],
    agentsOf: () => [],
    claim: claimInTurn(declaration),
    async execute(_tx, deployments) {
      return { findings: deployments.map(({ id }) => ({ id, result: 'SUCCESS', message: null })) }
    },
  }
}

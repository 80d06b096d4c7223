import { DEPLOYMENT_HANDLERS } from '../../domain/deployment/handlers.ts'
import { handleDeployments } from './handle-deployments.ts'

/** PENDING → SCALING: no preparation is necessary. */
export const checkPendingDeployment = handleDeployments(DEPLOYMENT_HANDLERS['check-pending-deployment'], {
  wakes: [],
  async execute(_tx, deployments) {
    return { findings: deployments.map(({ id }) => ({ id, result: 'SUCCESS', message: null })) }
  },
})

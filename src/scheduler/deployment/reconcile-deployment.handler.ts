import { DEPLOYMENT_HANDLERS } from '../../domain/deployment/handlers.ts'
import { handleDeployments } from './handle-deployments.ts'

/** READY → SCALING if a route has a fault that nothing else has fixed in time. */
export const reconcileDeployment = handleDeployments(DEPLOYMENT_HANDLERS['reconcile-deployment'], {
  wakes: ['drive-deployments'],
  async execute(_tx, deployments) {
    return { findings: deployments.map(({ id, fault }) => ({ id, result: 'FAILURE', message: fault })) }
  },
})

import { DEPLOYMENT_HANDLERS } from '../../domain/deployment/handlers.ts'
import { handleDeployments } from './handle-deployments.ts'

/** READY → SCALING if a route is not as it should be and nothing else has fixed it in time. */
export const reconcileDeployment = handleDeployments(DEPLOYMENT_HANDLERS['reconcile-deployment'], {
  wakes: ['drive-deployments'],
  async execute(_tx, deployments) {
    return { findings: deployments.map(({ id, fault }) => ({ id, result: 'FAILURE', message: fault })) }
  },
})

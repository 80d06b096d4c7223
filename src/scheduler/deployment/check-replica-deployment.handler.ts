import { DEPLOYMENT_HANDLERS } from '../../domain/deployment/handlers.ts'
import { handleDeployments } from './handle-deployments.ts'

/** READY → SCALING if the number of routes differs from the number of replicas. */
export const checkReplicaDeployment = handleDeployments(DEPLOYMENT_HANDLERS['check-replica-deployment'], {
  wakes: ['drive-deployments'],
  async execute(_tx, deployments) {
    return {
      findings: deployments.map(({ id, live, replicas }) => {
        return { id, result: 'SUCCESS', message: `replicas: ${replicas} wanted, ${live} there` }
      }),
    }
  },
})

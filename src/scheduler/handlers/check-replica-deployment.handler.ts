import { DEPLOYMENT_HANDLERS } from '../../domain/deployment/handlers.ts'
import type { DeploymentHandler } from '../deployment-kinds.ts'
import { claimInTurn } from './handle-deployments.ts'

/** READY → SCALING if the number of routes differs from the number of replicas. */
export function checkReplicaDeployment(): DeploymentHandler {
  const declaration = DEPLOYMENT_HANDLERS['check-replica-deployment']
  return {
    declaration,
    wakes: ['drive-deployments'],
    agentsOf: () => [],
    claim: claimInTurn(declaration),
    async execute(_tx, deployments) {
      return {
        findings: deployments.map(({ id, live, replicas }) => {
          return { id, result: 'SUCCESS', message: `replicas: ${replicas} wanted, ${live} there` }
        }),
      }
    },
  }
}

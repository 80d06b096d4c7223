import type { DeploymentDeclaration } from '../../domain/deployment/handlers.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { Queryable } from '../../store/database.ts'
import { claimDeployments, type ClaimedDeployment } from '../../store/sql/deployment/claim-deployments.sql.ts'
import type { DeploymentFindings, DeploymentHandler } from './deployment-kinds.ts'

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/**
 * A handler of deployments. The result is called for each pass: the handler it returns claims batch after batch in
 * order of id, until none is left.
 */
export function handleDeployments(
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

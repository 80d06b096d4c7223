import type { DeploymentDeclaration } from '../../domain/deployment/handlers.ts'
import type { Queryable } from '../../store/database.ts'
import { claimDeployments, type ClaimedDeployment } from '../../store/sql/claim-deployments.sql.ts'

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/** Batch after batch, each after the last, until none is left; each pass makes a new handler. */
export function claimInTurn(declaration: DeploymentDeclaration) {
  let after = BEFORE_ALL
  return async (tx: Queryable, { limit }: { limit: number }): Promise<ClaimedDeployment[]> => {
    const claimed = await claimDeployments(tx, declaration, { after, limit })
    after = claimed.at(-1)?.id ?? after
    return claimed
  }
}

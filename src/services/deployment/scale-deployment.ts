import { z } from 'zod'
import type { ValidationIssue } from '../../domain/errors.ts'
import type { RolloutSettings } from '../../domain/deployment/rollout.ts'
import { scaleDeploymentRow } from '../../store/sql/deployment/change-deployment.sql.ts'
import { assertLives, changeDeployment } from './change-deployment.ts'
import { replicas } from './deployment-fields.ts'
import { parseInput, refuseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { assertMayChange } from '../access/authorize.ts'

export const scaleSchema = z.strictObject({
  replicas: replicas.nullish(),
  minHealthy: replicas.nullish(),
  maxSurge: replicas.nullish(),
})

/** A missing field leaves a setting as it is; null means the default of `minHealthy` and `maxSurge`. */
export type ScaleDeploymentInput = z.input<typeof scaleSchema> & { deploymentId: string }

/**
 * Sets the desired number of replicas, and the limits for updates.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, DEPLOYMENT_NOT_FOUND, DEPLOYMENT_DESTROYED
 */
export async function scaleDeployment(
  context: ServiceContext,
  { deploymentId, ...input }: ScaleDeploymentInput,
): Promise<{ deploymentId: string }> {
  assertMayChange(context.viewer)
  const change = parseInput(scaleSchema, input)
  return changeDeployment(context, deploymentId, 'deployment.scale', async (tx, deployment) => {
    assertLives(deployment)
    const { replicas: wanted, minHealthy, maxSurge } = deployment
    const before = { replicas: wanted, minHealthy, maxSurge }
    const after = {
      replicas: change.replicas ?? wanted,
      minHealthy: change.minHealthy === undefined ? minHealthy : change.minHealthy,
      maxSurge: change.maxSurge === undefined ? maxSurge : change.maxSurge,
    }
    const issues = rolloutIssues(after).filter(({ path }) => change[path as keyof typeof change] !== undefined)
    if (issues.length > 0) refuseInput(issues)
    const same = wanted === after.replicas && minHealthy === after.minHealthy && maxSurge === after.maxSurge
    if (same) return undefined
    await scaleDeploymentRow(tx, deploymentId, after, wanted)
    return { before, after }
  })
}

/** Contradictions between these settings, by path. */
export function rolloutIssues({ replicas: wanted, minHealthy, maxSurge }: RolloutSettings): ValidationIssue[] {
  if (minHealthy !== null && minHealthy > wanted) {
    return [{ path: 'minHealthy', message: 'must be at most replicas' }]
  }
  if (minHealthy !== null && minHealthy === wanted && wanted > 0 && maxSurge === 0) {
    return [
      { path: 'maxSurge', message: 'must be at least 1 where all replicas must be healthy: nothing could be updated' },
    ]
  }
  return []
}

import { RepriseError } from '../../domain/errors.ts'
import { REASON_LENGTH_MAX } from '../../domain/limits.ts'
import { destroyDeploymentRow } from '../../store/sql/deployment/change-deployment.sql.ts'
import { z } from 'zod'
import { assertMayChange } from '../access/authorize.ts'
import { changeDeployment } from './change-deployment.ts'
import { parseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { text } from '../input/text-input.ts'

const schema = z.strictObject({
  deploymentId: z.string(),
  reason: text(REASON_LENGTH_MAX).nullish(),
})

export type DestroyDeploymentInput = z.input<typeof schema>

/**
 * Ends a deployment with all its routes, each after its drain. Repeating it changes nothing.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, DEPLOYMENT_NOT_FOUND, DEPLOYMENT_DESTROYED
 */
export async function destroyDeployment(
  context: ServiceContext,
  input: DestroyDeploymentInput,
): Promise<{ deploymentId: string }> {
  const { viewer } = context
  assertMayChange(viewer)
  const { deploymentId, reason: given } = parseInput(schema, input)
  const reason = given ?? `destroyed by ${viewer.name}`
  return changeDeployment(context, deploymentId, 'deployment.destroy', async (tx, { id, status }) => {
    if (status === 'DESTROYED') throw new RepriseError('DEPLOYMENT_DESTROYED', `deployment ${id} is gone already`)
    if (status === 'DESTROYING') return undefined
    await destroyDeploymentRow(tx, { id, actor: viewer.name, reason })
    return { reason }
  })
}

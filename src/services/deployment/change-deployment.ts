import { validate } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { lockDeployment, type LockedDeployment } from '../../store/sql/deployment/change-deployment.sql.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { assertMayChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

/**
 * Changes a deployment that the viewer may change, with an entry in the audit log, in one transaction. `change` returns
 * the details of the entry, or undefined if there was nothing to change. Another project's deployment is not found.
 * @throws RepriseError FORBIDDEN, DEPLOYMENT_NOT_FOUND
 */
export async function changeDeployment(
  { db, viewer, wake }: ServiceContext,
  id: string,
  action: string,
  change: (tx: Queryable, deployment: LockedDeployment) => Promise<object | undefined>,
): Promise<{ deploymentId: string }> {
  assertMayChange(viewer)
  await db.transaction(async (tx) => {
    const deployment = validate(id) ? await lockDeployment(tx, id, viewer.projectId) : undefined
    if (!deployment) throw new RepriseError('DEPLOYMENT_NOT_FOUND', `no deployment ${id.slice(0, 100)}`)
    const details = await change(tx, deployment)
    if (!details) return
    const { projectId } = deployment
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId, details: { deploymentId: id, ...details } })
  })
  wake.wake('drive-deployments', 'events')
  return { deploymentId: id }
}

/** @throws RepriseError DEPLOYMENT_DESTROYED */
export function assertLives({ id, status }: LockedDeployment): void {
  if (status !== 'DESTROYING' && status !== 'DESTROYED') return
  throw new RepriseError('DEPLOYMENT_DESTROYED', `deployment ${id} is ${status}: it can no longer be changed`)
}

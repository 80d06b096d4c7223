import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { countGroupUsers, deleteGroup, lockGroupOptions } from '../../store/sql/resource-group/resource-groups.sql.ts'
import { assertMayAdminister } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

/** The group of sessions and agents that do not name one. */
const DEFAULT_GROUP = 'default'

/**
 * Finished sessions keep its name; it may be created again.
 * @throws RepriseError FORBIDDEN, RESOURCE_GROUP_NOT_FOUND, RESOURCE_GROUP_IN_USE
 */
export async function deleteResourceGroup(
  context: ServiceContext,
  { name }: { name: string },
): Promise<{ name: string }> {
  const { db, viewer } = context
  assertMayAdminister(viewer, 'CLUSTER')
  await db.transaction(async (tx) => {
    const options = name.includes('\0') ? undefined : await lockGroupOptions(tx, name)
    if (!options) throw new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${name}`)
    if (name === DEFAULT_GROUP)
      throw new RepriseError('RESOURCE_GROUP_IN_USE', 'it is the default group, used where none is named')
    const { agents, sessions, deployments, retries } = await countGroupUsers(tx, name)
    if (agents + sessions + deployments + retries > 0) {
      const counts = `${agents} agents, ${sessions} sessions that are not finished, ${deployments} deployments and ${retries} retries that wait`
      throw new RepriseError('RESOURCE_GROUP_IN_USE', `resource group ${name} has ${counts}`)
    }
    await deleteGroup(tx, name)
    const details = { name, options }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'resource_group.delete', projectId: null, details })
  })
  return { name }
}
